// What every method of placement answers with, whatever its objective. Pure values.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace optile::placement {

struct Answer {
  // In the unit of the objective: milliseconds for load, latency and step; the problem's own unit
  // for strategy. Infinite where nothing was found.
  double cost = std::numeric_limits<double>::infinity();
  // Proven: no feasible answer costs less. 0 where nothing is known.
  double lower_bound = 0;
  double seconds = 0;             // that the method ran
  double bound_seconds = 0;       // that its bound was improved afterwards
  std::uint64_t evaluations = 0;  // candidates whose cost was asked for, incremental or not
  std::string method;
  std::uint64_t seed = 0;
  std::vector<double> load;    // of each device, in milliseconds; empty for strategy
  std::vector<double> memory;  // of each device, in bytes; for strategy the largest use alone
  // load, latency, step: the device of each node of the graph, in its order. strategy: the
  // strategy of each node.
  std::vector<std::int32_t> assignment;
  // Nodes that are not where they were, where a placement was to be kept; else negative.
  std::int64_t moved = -1;
  bool feasible = false;
  std::string violation;  // why it is not feasible, for people
  // For people: that a larger bound was reckoned which cannot be right. Empty but for our faults.
  std::string bound_fault;

  // From what an objective's evaluator says of `assignment`.
  template <typename Figures>
  void take(const Figures& figures) {
    cost = figures.cost;
    load = figures.load;
    memory = figures.memory;
    feasible = figures.feasible;
    violation = figures.violation;
  }

  // (cost - bound) / bound; infinite where no bound is known.
  double gap() const {
    if (cost <= lower_bound) return 0;
    return lower_bound > 0 ? (cost - lower_bound) / lower_bound
                           : std::numeric_limits<double>::infinity();
  }
};

}  // namespace optile::placement
