// One graph as a policy sees it: groups with features and neighbours, and what a placement of them
// costs. Every cost asked for is one evaluation of the budget. Of one thread.
#pragma once

#include <memory>
#include <vector>

#include "placement/budget.h"
#include "placement/policy/matrix.h"
#include "placement/search/annealing.h"
#include "placement/step/step.h"
#include "placement/units.h"

namespace optile::placement::policy {

class Task {
 public:
  // At most about this many groups. Keeps references to graph and cluster.
  Task(const Graph& graph, const Cluster& cluster, const StepSetting& setting, int most_groups);

  int groups() const { return groups_.size(); }
  int devices() const { return groups_.devices(); }
  // Topological, as far as groups can be.
  const std::vector<UnitId>& order() const { return order_; }
  // All on one device, where an episode begins.
  const std::vector<DeviceId>& start() const { return start_; }
  bool may_run(UnitId group, DeviceId device) const;
  // The device, or the group's fastest one where it cannot run there.
  DeviceId runnable(UnitId group, DeviceId device) const;

  // A row for each group: its time, transfer and memory, as parts of the graph's largest, and its
  // place in the order, from 0 to 1.
  enum Feature { kTime, kTransfer, kMemory, kPlace, kFeatures };
  const Matrix& features() const { return features_; }
  // 0 where a group may run, and what rules a device out in a softmax where not.
  const Matrix& mask() const { return mask_; }
  const RowLists& producers() const { return producers_; }
  const RowLists& readers() const { return readers_; }
  const RowLists& neighbours() const { return neighbours_; }  // both

  // The step's time over that of `start`, plus the memory beyond the caps at a price. Counts one
  // evaluation, the first time two, and keeps the best.
  double ask(const std::vector<DeviceId>& groups, Budget& budget);
  bool fits() const { return fits_; }  // whether what was asked for last is feasible
  // The best that was asked for, of the graph's nodes; the start's before that.
  std::vector<DeviceId> best() const { return groups_.to_nodes(best_.assignment); }
  double best_cost() const { return best_.score.cost; }
  // Over the start's cost; 1 before anything was asked for.
  double relative_best() const { return reference_ > 0 ? best_.score.cost / reference_ : 1; }

 private:
  void find_lists();
  void find_features(const Cluster& cluster);
  Score scored(const std::vector<DeviceId>& groups, Budget& budget);

  Units groups_;
  std::vector<UnitId> order_;
  std::vector<DeviceId> start_;
  Matrix features_, mask_;
  RowLists producers_, readers_, neighbours_;
  std::unique_ptr<CostModel> model_;
  double reference_ = 0;  // the start's cost, 0 until it is known
  bool fits_ = false;
  Candidate best_;
};

// The features of each group, the mean of those before it, and of those after it.
inline constexpr int kNeighbourFeatures = 3 * Task::kFeatures;
Matrix neighbour_features(const Task& task);

}  // namespace optile::placement::policy
