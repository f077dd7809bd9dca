#include "placement/assistants/assistant.h"

#include <algorithm>
#include <utility>

namespace optile::placement {
namespace {

// Whether the first is to be preferred.
bool better(NodeChoice choice, double demand, std::int64_t bytes, double other_demand,
            std::int64_t other_bytes) {
  if (choice == NodeChoice::kSmallestState) return bytes < other_bytes;
  return demand > other_demand;
}

}  // namespace

Assistant::Assistant(AssistantDevice device, std::vector<AssistantRule> rules,
                     std::vector<AssistantNode> nodes)
    : device_(device),
      rules_(std::move(rules)),
      watches_(rules_.size()),
      nodes_(std::move(nodes)) {}

void Assistant::begin_step(std::uint64_t epoch, OutBoxes& boxes) {
  for (const Handover& handover : boxes.handovers(device_)) {
    if (handover.epoch > epoch) continue;
    const Offer& offer = handover.offer;
    for (std::size_t r = 0; r < rules_.size(); ++r) {
      if (rules_[r].resource != offer.resource) continue;
      if (offer.owner == device_) {
        std::erase_if(nodes_, [&](const AssistantNode& node) { return node.id == offer.node; });
      } else {
        nodes_.push_back({offer.node, offer.resource, offer.demand, offer.bytes,
                          handover.epoch + rules_[r].cool_down});
      }
      watches_[r] = {};  // what was measured before says nothing about after
    }
    boxes.confirm(offer.node, device_);
  }
}

void Assistant::end_step(std::uint64_t epoch, const AssistantSample& sample, OutBoxes& boxes) {
  for (std::size_t r = 0; r < rules_.size(); ++r) {
    const AssistantRule& rule = rules_[r];
    Watch& watch = watches_[r];
    const double use = sample.use[static_cast<std::size_t>(rule.resource)];
    watch.above = use > rule.theta ? watch.above + 1 : 0;
    watch.calm = use > rule.theta ? 0 : watch.calm + 1;
    watch.below = use < rule.gamma ? watch.below + 1 : 0;
    if (watch.offering && watch.calm >= rule.samples && boxes.withdraw(watch.offered, device_)) {
      watch.offering = false;
    }
    if (!watch.offering && watch.above >= rule.samples) offer(rule, watch, use, epoch, boxes);
    if (watch.below >= rule.samples) take(rule, watch, sample, epoch, boxes);
  }
}

void Assistant::offer(const AssistantRule& rule, Watch& watch, double use, std::uint64_t epoch,
                      OutBoxes& boxes) {
  const AssistantNode* best = nullptr;
  const double largest = rule.largest > 0 ? rule.largest : (use - rule.gamma) / 2;
  for (const AssistantNode& node : nodes_) {
    const bool fits = node.bound == rule.resource && node.stays_until <= epoch && node.demand > 0 &&
                      node.demand <= largest;
    if (!fits) continue;
    if (best == nullptr ||
        better(rule.choice, node.demand, node.bytes, best->demand, best->bytes)) {
      best = &node;
    }
  }
  if (best == nullptr) return;
  watch.offering = boxes.post({best->id, device_, rule.resource, best->demand, best->bytes, use});
  watch.offered = best->id;
}

void Assistant::take(const AssistantRule& rule, Watch& watch, const AssistantSample& sample,
                     std::uint64_t epoch, OutBoxes& boxes) {
  const double use = sample.use[static_cast<std::size_t>(rule.resource)];
  const std::vector<Offer> offers = boxes.offers(rule.resource);
  const Offer* best = nullptr;
  for (const Offer& offer : offers) {
    const bool fits = offer.owner != device_ && offer.bytes <= sample.free_bytes &&
                      use + offer.demand <= rule.theta - rule.margin &&
                      use + offer.demand < offer.owner_use;
    if (!fits) continue;
    if (best == nullptr ||
        better(rule.choice, offer.demand, offer.bytes, best->demand, best->bytes)) {
      best = &offer;
    }
  }
  // One at a time: the next is judged by what this one really costs here.
  if (best != nullptr && boxes.claim(best->node, device_, epoch + 1)) watch = {};
}

}  // namespace optile::placement
