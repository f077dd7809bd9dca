#include "placement/latency/latency_program.h"

#include <algorithm>
#include <cmath>

#include "base/at.h"
#include "placement/infinity.h"
#include "placement/methods/cbc_program.h"
#include "placement/units.h"

namespace optile::placement {
namespace {

using base::at;

constexpr int kMostNodes = 5000;
constexpr double kSafeSide = 1e-5;  // of the solver's tolerances

class Builder {
 public:
  Builder(const Graph& graph, const Cluster& cluster)
      : graph_(graph), cluster_(cluster), units_(Units::of(graph, cluster)) {}

  Program build() {
    for (const Device& device : cluster_.devices) {
      if (device.kind == DeviceKind::kCpu) {
        has_cpu_ = true;
        continue;
      }
      ++accelerators_;
      memory_ += device.memory_bytes;
      largest_ = std::max(largest_, device.memory_bytes);
    }
    Program::Column end;
    end.cost = 1;
    last_ = program_.add(end);
    add_units();
    add_nodes();
    add_sums();
    return std::move(program_);
  }

 private:
  // The least time of the node on a device of the kind.
  double least(NodeId id, DeviceKind kind) const {
    double best = kInfinity;
    for (DeviceId d = 0; d < cluster_.size(); ++d) {
      if (cluster_.device(d).kind != kind) continue;
      best = std::min(best, cluster_.time_ms(graph_.node(id), d));
    }
    return best;
  }

  // 1 where a unit is on an accelerator.
  void add_units() {
    std::vector<bool> may(at(units_.size()), accelerators_ > 0);
    for (NodeId id = 0; id < graph_.size(); ++id) {
      if (!graph_.node(id).runs_on_accelerator) may[at(units_.of(id))] = false;
    }
    for (UnitId unit = 0; unit < units_.size(); ++unit) {
      Program::Column on;
      on.whole = true;
      on.upper = may[at(unit)] && units_.memory(unit) <= largest_ ? 1 : 0;
      on.lower = has_cpu_ ? 0 : on.upper;
      on_.push_back(program_.add(on));
    }
  }

  void add_nodes() {
    for (NodeId id = 0; id < graph_.size(); ++id) end_.push_back(program_.add({}));
    for (NodeId id = 0; id < graph_.size(); ++id) {
      const double fast = least(id, DeviceKind::kAccelerator);
      const double slow = least(id, DeviceKind::kCpu);
      const bool both = std::isfinite(fast) && std::isfinite(slow);
      const double there = std::isfinite(slow) ? slow : fast;
      const auto add = [&](NodeId before) {
        Program::Row row;
        row.lower = there;
        row.entries.emplace_back(end_[at(id)], 1);
        if (before >= 0) row.entries.emplace_back(end_[at(before)], -1);
        if (both && slow != fast) row.entries.emplace_back(on_[at(units_.of(id))], slow - fast);
        program_.rows.push_back(std::move(row));
      };
      for (const NodeId before : graph_.predecessors(id)) add(before);
      if (graph_.predecessors(id).empty()) add(-1);
      if (!graph_.successors(id).empty()) continue;
      program_.rows.push_back({0, Program::kFree, {{last_, 1}, {end_[at(id)], -1}}});
    }
  }

  // All memory, and all work on accelerators, each of which is done with its part at the end.
  void add_sums() {
    Program::Row memory;
    memory.upper = 1;
    Program::Row work;
    work.lower = 0;
    work.entries.emplace_back(last_, accelerators_);
    std::vector<double> times(at(units_.size()), 0);
    for (NodeId id = 0; id < graph_.size(); ++id) {
      const double fast = least(id, DeviceKind::kAccelerator);
      if (std::isfinite(fast)) times[at(units_.of(id))] += fast;
    }
    for (UnitId unit = 0; unit < units_.size(); ++unit) {
      const int column = on_[at(unit)];
      if (units_.memory(unit) > 0 && memory_ > 0) {
        memory.entries.emplace_back(column, units_.memory(unit) / memory_);
      }
      if (times[at(unit)] > 0) work.entries.emplace_back(column, -times[at(unit)]);
    }
    if (std::isfinite(memory_)) program_.rows.push_back(std::move(memory));
    if (accelerators_ > 0) program_.rows.push_back(std::move(work));
  }

  const Graph& graph_;
  const Cluster& cluster_;
  Units units_;
  Program program_;
  bool has_cpu_ = false;
  int accelerators_ = 0;
  double memory_ = 0;   // of all accelerators
  double largest_ = 0;  // of one
  int last_ = 0;
  std::vector<int> on_;   // columns of units
  std::vector<int> end_;  // and of nodes
};

}  // namespace

double latency_program_bound(const Graph& graph, const Cluster& cluster, double known, double cost,
                             Budget& budget) {
  if (graph.size() > kMostNodes) return known;
  const Program program = Builder(graph, cluster).build();
  const ProgramAnswer answer = solve_program(program, cost, budget);
  if (!std::isfinite(answer.bound)) return known;
  return std::max(known, answer.bound * (1 - kSafeSide));
}

}  // namespace optile::placement
