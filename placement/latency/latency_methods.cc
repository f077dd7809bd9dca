#include <algorithm>
#include <limits>
#include <numeric>

#include "placement/latency/latency.h"
#include "placement/load/load_methods.h"
#include "placement/methods/partitioners.h"

namespace optile::placement {
namespace {

// Intervals of the order that fill each accelerator's memory, from the given place on, and the
// rest on a CPU where there is one.
UnitAssignment filled(const Units& units, const Cluster& cluster, const std::vector<UnitId>& order,
                      std::size_t from, double fill) {
  DeviceId rest = 0;
  for (DeviceId d = 0; d < cluster.size(); ++d) {
    if (cluster.device(d).kind == DeviceKind::kCpu) rest = d;
  }
  UnitAssignment assignment(static_cast<std::size_t>(units.size()), rest);
  std::size_t at = from;
  for (DeviceId d = 0; d < cluster.size(); ++d) {
    if (cluster.device(d).kind == DeviceKind::kCpu) continue;
    double room = cluster.device(d).memory_bytes * fill;
    for (; at < order.size() && units.memory(order[at]) <= room; ++at) {
      room -= units.memory(order[at]);
      assignment[static_cast<std::size_t>(order[at])] = d;
    }
  }
  make_runnable(units, assignment);
  return assignment;
}

UnitAssignment greedy(const Graph& graph, const Cluster& cluster, const Units& units,
                      Budget& budget) {
  const std::vector<UnitId> order = unit_order(graph, units);
  const std::unique_ptr<CostModel> model = latency_model(graph, cluster, units);
  Candidate best{filled(units, cluster, order, 0, 1), {}};
  best.score = model->score(best.assignment);
  for (std::size_t from = 0; from < order.size(); from += 1 + order.size() / 64) {
    for (const double fill : {1.0, 0.9, 0.75, 0.5}) {
      if (budget.spent()) return best.assignment;
      Candidate other{filled(units, cluster, order, from, fill), {}};
      other.score = model->score(other.assignment);
      budget.count();
      if (other < best) best = std::move(other);
    }
  }
  return best.assignment;
}

base::Result<UnitAssignment> units_by_name(const Graph& graph, const Cluster& cluster,
                                           const Units& units, const Request& request,
                                           Budget& budget) {
  if (request.method == Method::kGreedy) return greedy(graph, cluster, units, budget);
  if (request.method != Method::kAuto && request.method != Method::kLocalSearch) {
    return partition_by_name(graph, units, cluster, request, budget);
  }
  const Neighbours neighbours(units);
  SearchSpace space{units, neighbours, unit_order(graph, units), {}, {}};
  bool has_cpu = false;
  for (DeviceId d = 0; d < cluster.size(); ++d) {
    const bool cpu = cluster.device(d).kind == DeviceKind::kCpu;
    // CPUs are as many as are needed: one stands for all of them.
    if (!cpu || !has_cpu) space.devices.push_back(d);
    has_cpu = has_cpu || cpu;
  }
  const CostModelMaker make = [&] { return latency_model(graph, cluster, units); };
  if (!request.kept.empty()) return search_kept(space, make, request, budget);
  std::vector<UnitAssignment> starts;
  if (request.method == Method::kAuto) starts.push_back(greedy(graph, cluster, units, budget));
  DeviceId rest = space.devices.front();
  for (const DeviceId d : space.devices) {
    if (cluster.device(d).kind == DeviceKind::kCpu) rest = d;
  }
  starts.emplace_back(static_cast<std::size_t>(units.size()), rest);
  make_runnable(units, starts.back());
  if (request.method == Method::kAuto) {
    starts.push_back(filled(units, cluster, branch_order(graph, units), 0, 1));
    starts.push_back(in_blocks(units, cluster, space.order));
  }
  return search(space, make, starts, request, budget).assignment;
}

}  // namespace

base::Result<Answer> place_latency(const Graph& graph, const Cluster& cluster,
                                   const Request& request, Budget& budget) {
  const Units units = Units::of(graph, cluster);
  base::Result<UnitAssignment> found = units_by_name(graph, cluster, units, request, budget);
  if (!found.ok()) return found.error();
  Answer answer;
  answer.assignment = units.to_nodes(found.value());
  answer.take(evaluate_latency(graph, cluster, answer.assignment));
  answer.lower_bound = latency_bound(graph, cluster);
  return answer;
}

}  // namespace optile::placement
