#include "placement/policy/task.h"

#include <algorithm>
#include <cmath>

#include "placement/infinity.h"
#include "placement/methods/partitioners.h"
#include "placement/policy/groups.h"
#include "placement/step/step_model.h"

namespace optile::placement::policy {
namespace {

constexpr double kRuledOut = -1e4;  // e to this is 0
constexpr double kExcessPrice = 4;
constexpr double kCannotRun = 10;

}  // namespace

Task::Task(const Graph& graph, const Cluster& cluster, const StepSetting& setting, int most_groups)
    : groups_(Units::of(graph, cluster)) {
  if (groups_.size() > most_groups) {
    groups_ = grouped(groups_, branch_order(graph, groups_), most_groups);
  }
  order_ = unit_order(graph, groups_);
  start_ = on_one_device(groups_, cluster);
  find_lists();
  find_features(cluster);
  model_ = step_model(graph, cluster, groups_, setting);
  best_ = {start_, {kInfinity, kInfinity}};
}

bool Task::may_run(UnitId group, DeviceId device) const {
  return groups_.time_ms(group, device) < kInfinity;
}

DeviceId Task::runnable(UnitId group, DeviceId device) const {
  if (may_run(group, device)) return device;
  for (DeviceId d = 0; d < devices(); ++d) {
    if (groups_.time_ms(group, d) < groups_.time_ms(group, device)) device = d;
  }
  return device;
}

void Task::find_lists() {
  std::vector<UnitId> before;
  std::vector<UnitId> after;
  std::vector<UnitId> both;
  const auto unique = [](std::vector<UnitId>& list) {
    std::sort(list.begin(), list.end());
    list.erase(std::unique(list.begin(), list.end()), list.end());
  };
  for (UnitId group = 0; group < groups_.size(); ++group) {
    before.clear();
    after.clear();
    for (const int net : groups_.read(group)) {
      before.push_back(groups_.nets()[static_cast<std::size_t>(net)].producer);
    }
    for (const int net : groups_.produced(group)) {
      const auto readers = groups_.readers(net);
      after.insert(after.end(), readers.begin(), readers.end());
    }
    unique(before);
    unique(after);
    both = before;
    both.insert(both.end(), after.begin(), after.end());
    unique(both);
    producers_.add(before);
    readers_.add(after);
    neighbours_.add(both);
  }
}

void Task::find_features(const Cluster& cluster) {
  features_.setZero(groups(), kFeatures);
  mask_.setZero(groups(), devices());
  for (UnitId group = 0; group < groups(); ++group) {
    double time = kInfinity;
    for (DeviceId d = 0; d < devices(); ++d) {
      time = std::min(time, groups_.time_ms(group, d));
      if (!may_run(group, d)) mask_(group, d) = kRuledOut;
    }
    features_(group, kTime) = time < kInfinity ? time : 0;
    for (const int net : groups_.produced(group)) {
      features_(group, kTransfer) += groups_.nets()[static_cast<std::size_t>(net)].ms;
    }
    features_(group, kMemory) = groups_.memory(group);
  }
  // Times and transfers on one scale, since they are weighed against each other.
  const double longest = std::max(features_.col(kTime).maxCoeff(), 1e-300);
  features_.col(kTime) /= longest;
  features_.col(kTransfer) /= longest;
  features_.col(kTransfer) = features_.col(kTransfer).cwiseMin(4.0);
  double room = 0;
  for (const Device& device : cluster.devices) room = std::max(room, device.memory_bytes);
  if (room > 0 && std::isfinite(room)) {
    features_.col(kMemory) = (features_.col(kMemory) / room).cwiseMin(4.0);
  } else {
    features_.col(kMemory).setZero();
  }
  for (std::size_t i = 0; i < order_.size(); ++i) {
    features_(order_[i], kPlace) = static_cast<double>(i) / static_cast<double>(order_.size());
  }
}

Score Task::scored(const std::vector<DeviceId>& groups, Budget& budget) {
  const Score score = model_->score(groups);
  model_->keep();  // policies change a placement group by group
  budget.count();
  const Candidate now{groups, score};
  if (now < best_) best_ = now;
  return score;
}

double Task::ask(const std::vector<DeviceId>& groups, Budget& budget) {
  if (reference_ == 0) {
    const Score first = scored(start_, budget);
    reference_ = first.cost > 0 && first.cost < kInfinity ? first.cost : 1;
  }
  const Score score = scored(groups, budget);
  fits_ = score.excess <= 0 && score.cost < kInfinity;
  if (!(score.cost < kInfinity)) return kCannotRun;
  return score.cost / reference_ + kExcessPrice * score.excess;
}

Matrix neighbour_features(const Task& task) {
  Matrix made = Matrix::Zero(task.groups(), kNeighbourFeatures);
  made.leftCols(Task::kFeatures) = task.features();
  const RowLists* lists[] = {&task.producers(), &task.readers()};
  for (int i = 0; i < 2; ++i) {
    for (UnitId group = 0; group < task.groups(); ++group) {
      const auto others = lists[i]->of(group);
      auto mean =
          made.row(group).middleCols((Eigen::Index{i} + 1) * Task::kFeatures, Task::kFeatures);
      for (const UnitId other : others) mean += task.features().row(other);
      if (!others.empty()) mean /= static_cast<double>(others.size());
    }
  }
  return made;
}

}  // namespace optile::placement::policy
