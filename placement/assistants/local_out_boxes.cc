#include "placement/assistants/out_boxes.h"

namespace optile::placement {

bool LocalOutBoxes::post(const Offer& offer) {
  if (claimed_.count(offer.node) > 0) return false;
  return offers_.try_emplace({offer.owner, offer.resource}, offer).second;
}

bool LocalOutBoxes::withdraw(AssistantNodeId node, AssistantDevice owner) {
  for (auto it = offers_.begin(); it != offers_.end(); ++it) {
    if (it->second.node != node || it->second.owner != owner) continue;
    offers_.erase(it);
    return true;
  }
  return false;
}

bool LocalOutBoxes::claim(AssistantNodeId node, AssistantDevice taker, std::uint64_t epoch) {
  for (auto it = offers_.begin(); it != offers_.end(); ++it) {
    if (it->second.node != node || it->second.owner == taker) continue;
    Claimed claimed;
    claimed.handover = {it->second, taker, epoch};
    claimed_.emplace(node, claimed);
    offers_.erase(it);
    return true;
  }
  return false;
}

std::vector<Offer> LocalOutBoxes::offers(Resource resource) const {
  std::vector<Offer> found;
  for (const auto& [place, offer] : offers_) {
    if (place.second == resource) found.push_back(offer);
  }
  return found;
}

std::vector<Handover> LocalOutBoxes::handovers(AssistantDevice device) const {
  std::vector<Handover> found;
  for (const auto& [node, claimed] : claimed_) {
    const bool as_owner = claimed.handover.offer.owner == device && !claimed.owner_knows;
    const bool as_taker = claimed.handover.taker == device && !claimed.taker_knows;
    if (as_owner || as_taker) found.push_back(claimed.handover);
  }
  return found;
}

void LocalOutBoxes::confirm(AssistantNodeId node, AssistantDevice device) {
  const auto it = claimed_.find(node);
  if (it == claimed_.end()) return;
  if (it->second.handover.offer.owner == device) it->second.owner_knows = true;
  if (it->second.handover.taker == device) it->second.taker_knows = true;
  if (it->second.owner_knows && it->second.taker_knows) claimed_.erase(it);
}

}  // namespace optile::placement
