#include "placement/assistants/assisted_devices.h"

#include <algorithm>
#include <utility>

namespace optile::placement {
namespace {

std::uint64_t cool_down(const std::vector<AssistantRule>& rules, Resource resource) {
  for (const AssistantRule& rule : rules) {
    if (rule.resource == resource) return rule.cool_down;
  }
  return 0;
}

}  // namespace

void AssistedDevices::begin(std::vector<AssistantRule> rules, const std::vector<PlacedNode>& nodes,
                            bool declined) {
  rules_ = std::move(rules);
  stays_until_.resize(nodes.size(), 0);
  std::vector<std::vector<AssistantNode>> of_device(devices_);
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const PlacedNode& node = nodes[i];
    const bool known = i < nodes_.size();
    const bool moved = known && nodes_[i].owner != node.owner;
    const bool was_to_move = known && owners_[i] != nodes_[i].owner;
    if (moved || (was_to_move && declined))
      stays_until_[i] = epoch_ + cool_down(rules_, node.bound);
    of_device[node.owner].push_back(
        {static_cast<AssistantNodeId>(i), node.bound, node.demand, node.bytes, stays_until_[i]});
  }
  nodes_ = nodes;
  owners_.clear();
  for (const PlacedNode& node : nodes) owners_.push_back(node.owner);
  boxes_ = LocalOutBoxes();
  assistants_.clear();
  for (std::size_t device = 0; device < devices_; ++device) {
    assistants_.emplace_back(static_cast<AssistantDevice>(device), rules_, of_device[device]);
  }
}

std::vector<AssistantSample> AssistedDevices::expected(
    const std::vector<AssistantSample>& samples) const {
  std::vector<AssistantSample> found = samples;
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    const PlacedNode& node = nodes_[i];
    if (owners_[i] == node.owner) continue;
    const auto resource = static_cast<std::size_t>(node.bound);
    found[node.owner].use[resource] -= node.demand;
    found[owners_[i]].use[resource] += node.demand;
    found[node.owner].free_bytes += node.bytes;
    found[owners_[i]].free_bytes -= node.bytes;
  }
  return found;
}

std::vector<Handover> AssistedDevices::begin_step() {
  std::vector<Handover> found;
  for (std::size_t device = 0; device < devices_; ++device) {
    const auto own = static_cast<AssistantDevice>(device);
    for (const Handover& handover : boxes_.handovers(own)) {
      if (handover.taker != own || handover.epoch > epoch_) continue;
      owners_[handover.offer.node] = own;
      found.push_back(handover);
    }
  }
  for (Assistant& one : assistants_) one.begin_step(epoch_, boxes_);
  return found;
}

std::vector<Handover> AssistedDevices::add(const std::vector<AssistantSample>& samples, int steps) {
  std::vector<Handover> all;
  for (int step = 0; step < steps; ++step) {
    ++epoch_;
    const std::vector<Handover> found = begin_step();
    all.insert(all.end(), found.begin(), found.end());
    const std::vector<AssistantSample> now = expected(samples);
    for (std::size_t device = 0; device < devices_; ++device) {
      assistants_[device].end_step(epoch_, now[device], boxes_);
    }
  }
  return all;
}

}  // namespace optile::placement
