// What all simulations of a step share: its items with their ranks, and the placement that was kept
// beside the one that is simulated. Of one thread.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "placement/step/min_heap.h"
#include "placement/step/step.h"
#include "placement/step/step_times.h"

namespace optile::placement {

// Each node once for each micro-batch. Immutable.
class StepItems {
 public:
  // Keeps a reference to the graph.
  StepItems(const Graph& graph, const Cluster& cluster, const StepSetting& setting);

  const Graph& graph() const { return graph_; }
  const StepTimes& times() const { return times_; }
  std::size_t size() const { return node_.size(); }
  NodeId node_of(ItemId item) const { return node_[static_cast<std::size_t>(item)]; }
  // How many other items it waits for.
  const std::vector<int>& inputs() const { return inputs_; }
  // Of several that are ready the smallest rank goes first.
  std::int32_t rank(ItemId item) const { return rank_[static_cast<std::size_t>(item)]; }
  ItemId ranked(std::int32_t rank) const { return by_rank_[static_cast<std::size_t>(rank)]; }

  // Of all that a node waits for, and of all that wait for it: the node, and whether its output is
  // read rather than only waited for.
  template <typename Visit>
  void visit_inputs(NodeId id, Visit visit) const {
    visit_all(graph_.predecessors(id), graph_.inputs(id), visit);
  }
  template <typename Visit>
  void visit_outputs(NodeId id, Visit visit) const {
    visit_all(graph_.successors(id), graph_.readers(id), visit);
  }

 private:
  // Both in the same order, the second a part of the first.
  template <typename All, typename Some, typename Visit>
  static void visit_all(const All& all, const Some& some, Visit visit) {
    std::size_t next = 0;
    for (const NodeId id : all) {
      const bool is_some = next < some.size() && some[next] == id;
      if (is_some) ++next;
      visit(id, is_some);
    }
  }

  const Graph& graph_;
  StepTimes times_;
  std::vector<NodeId> node_;
  std::vector<int> inputs_;
  std::vector<ItemId> by_rank_;
  std::vector<std::int32_t> rank_;
};

struct StepEvent {
  Ticks time;
  std::int32_t what;
  bool operator>(const StepEvent& other) const { return time > other.time; }
};

// One that is simulated as a change of what was kept. It refers to its nodes until the next.
class StepCandidate {
 public:
  explicit StepCandidate(const StepItems& items) : items_(items) {}
  StepCandidate(const StepCandidate&) = delete;
  StepCandidate& operator=(const StepCandidate&) = delete;

  bool has_kept() const { return has_kept_; }
  DeviceId on(NodeId id) const { return (*nodes_)[static_cast<std::size_t>(id)]; }
  // Where nothing is kept, of the candidate.
  DeviceId kept_on(NodeId id) const { return kept_[static_cast<std::size_t>(id)]; }
  const std::vector<std::pair<NodeId, DeviceId>>& changes() const { return changes_; }

  // Where `nodes` differ from what is kept; empty where nothing is.
  std::span<const NodeId> differences(const std::vector<DeviceId>& nodes);
  // Whether every node can run where it is. Only `changed` may differ from what is kept.
  bool take(const std::vector<DeviceId>& nodes, std::span<const NodeId> changed);
  // Keeps what was taken last, or nothing where that cannot run; false where it did so before.
  bool keep(bool can_run);

 private:
  const StepItems& items_;
  bool has_kept_ = false;
  bool pending_ = false;
  std::vector<DeviceId> kept_;
  const std::vector<DeviceId>* nodes_ = nullptr;
  std::vector<std::pair<NodeId, DeviceId>> changes_;
  std::vector<NodeId> differences_;
};

}  // namespace optile::placement
