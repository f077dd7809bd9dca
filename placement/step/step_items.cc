#include "placement/step/step_items.h"

namespace optile::placement {

StepItems::StepItems(const Graph& graph, const Cluster& cluster, const StepSetting& setting)
    : graph_(graph),
      times_(graph, cluster, setting),
      by_rank_(items_by_rank(times_.ways(), setting.micro_batches)) {
  const auto nodes = static_cast<std::size_t>(graph.size());
  rank_.resize(by_rank_.size());
  for (std::size_t i = 0; i < by_rank_.size(); ++i) {
    rank_[static_cast<std::size_t>(by_rank_[i])] = static_cast<std::int32_t>(i);
    node_.push_back(static_cast<NodeId>(i % nodes));
    inputs_.push_back(static_cast<int>(graph.predecessors(node_.back()).size()));
  }
}

std::span<const NodeId> StepCandidate::differences(const std::vector<DeviceId>& nodes) {
  differences_.clear();
  for (NodeId id = 0; has_kept_ && id < items_.graph().size(); ++id) {
    if (nodes[static_cast<std::size_t>(id)] != kept_on(id)) differences_.push_back(id);
  }
  return differences_;
}

bool StepCandidate::take(const std::vector<DeviceId>& nodes, std::span<const NodeId> changed) {
  nodes_ = &nodes;
  pending_ = true;
  changes_.clear();
  const auto can_run = [&](NodeId id) { return items_.times().time(id, on(id)) != kNoTicks; };
  if (!has_kept_) {
    kept_ = nodes;
    for (NodeId id = 0; id < items_.graph().size(); ++id) {
      if (!can_run(id)) return false;
    }
    return true;
  }
  for (const NodeId id : changed) {
    if (on(id) == kept_on(id)) continue;
    if (!can_run(id)) return false;
    changes_.emplace_back(id, on(id));
  }
  return true;
}

bool StepCandidate::keep(bool can_run) {
  if (!pending_) return false;
  pending_ = false;
  has_kept_ = can_run;
  if (!can_run) return true;
  for (const auto& [id, device] : changes_) kept_[static_cast<std::size_t>(id)] = device;
  return true;
}

}  // namespace optile::placement
