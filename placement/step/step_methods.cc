#include <algorithm>
#include <numeric>
#include <string>

#include "placement/infinity.h"
#include "placement/load/load_methods.h"
#include "placement/methods/partitioners.h"
#include "placement/policy/learned.h"
#include "placement/step/ilp.h"
#include "placement/step/routes.h"
#include "placement/step/step.h"
#include "placement/step/step_methods.h"
#include "placement/step/step_times.h"

namespace optile::placement {
namespace {

// Of auto: larger graphs gain more from annealing as a whole than from programs of their stretches.
constexpr int kMostProgramNodes = 500;
constexpr double kProgramTime = 0.5;  // of the budget
// Likewise: a node of the tree of a program takes as long as dozens of candidates.
constexpr double kProgramEvaluations = 0.02;
constexpr int kMostEtfNodes = 10'000;  // of auto: it looks at all ready nodes for each
constexpr int kMostMicroBatches = 1024;
constexpr std::int64_t kMostItems = 4'000'000;  // nodes times micro-batches

class ListScheduler {
 public:
  ListScheduler(const Graph& graph, const Cluster& cluster, const Units& units,
                const StepSetting& setting)
      : graph_(graph),
        cluster_(cluster),
        units_(units),
        setting_(with_routes(cluster, setting)),
        times_(graph, cluster, setting_),
        ways_(times_.ways()),
        assignment_(index(units.size()), -1),
        end_(index(graph.size()), 0),
        inputs_at_(index(graph.size())),
        free_(index(cluster.size()), 0),
        memory_(index(cluster.size()), 0) {}

  UnitAssignment run(bool earliest_first) {
    std::vector<int> waiting(index(graph_.size()));
    std::vector<NodeId> ready;
    for (NodeId id = 0; id < graph_.size(); ++id) {
      waiting[index(id)] = static_cast<int>(graph_.predecessors(id).size());
      if (waiting[index(id)] == 0) make_ready(id, ready);
    }
    while (!ready.empty()) {
      const std::size_t chosen = choose(ready, earliest_first);
      const NodeId id = ready[chosen];
      ready.erase(ready.begin() + static_cast<std::ptrdiff_t>(chosen));
      put(id, best_device(id));
      for (const NodeId next : graph_.successors(id)) {
        if (--waiting[index(next)] == 0) make_ready(next, ready);
      }
    }
    make_runnable(units_, assignment_);
    return assignment_;
  }

 private:
  static std::size_t index(std::int32_t id) { return static_cast<std::size_t>(id); }

  // Everything it waits for has its end, so that all its inputs' times are known.
  void make_ready(NodeId id, std::vector<NodeId>& ready) {
    ready.push_back(id);
    std::vector<double>& at = inputs_at_[index(id)];
    at.assign(free_.size(), 0);
    for (const NodeId before : graph_.predecessors(id)) {
      const auto readers = graph_.readers(before);
      const bool reads = std::binary_search(readers.begin(), readers.end(), id);
      const DeviceId from = assignment_[index(units_.of(before))];
      for (DeviceId d = 0; d < cluster_.size(); ++d) {
        const double transfer = reads && from != d ? transfer_ms(before, from, d) : 0;
        at[index(d)] = std::max(at[index(d)], end_[index(before)] + transfer);
      }
    }
  }
  // As if nothing else were sent.
  double transfer_ms(NodeId id, DeviceId from, DeviceId to) const {
    if (!setting_.routes) return cluster_.output_ms(graph_.node(id));
    return setting_.routes->alone_ms(from, to, times_.bytes(id) * setting_.micro_batches);
  }
  double begin_on(NodeId id, DeviceId d) const {
    return std::max(free_[index(d)], inputs_at_[index(id)][index(d)]);
  }
  DeviceId best_device(NodeId id) const {
    const UnitId unit = units_.of(id);
    if (assignment_[index(unit)] >= 0) return assignment_[index(unit)];
    for (const bool with_room : {true, false}) {
      DeviceId best = -1;
      double earliest = kInfinity;
      for (DeviceId d = 0; d < cluster_.size(); ++d) {
        const double memory = memory_[index(d)] + units_.memory(unit);
        if (with_room && memory > cluster_.device(d).memory_bytes) continue;
        const double ends = begin_on(id, d) + cluster_.time_ms(graph_.node(id), d);
        if (ends >= earliest) continue;
        earliest = ends;
        best = d;
      }
      if (best >= 0) return best;
    }
    return 0;
  }
  std::size_t choose(const std::vector<NodeId>& ready, bool earliest_first) const {
    std::size_t chosen = 0;
    double soonest = kInfinity;
    for (std::size_t i = 0; i < ready.size(); ++i) {
      const double begin = earliest_first ? begin_on(ready[i], best_device(ready[i])) : 0;
      const bool longer = ways_[index(ready[i])] > ways_[index(ready[chosen])];
      if (begin > soonest || (begin == soonest && !longer)) continue;
      soonest = begin;
      chosen = i;
    }
    return chosen;
  }
  void put(NodeId id, DeviceId d) {
    const UnitId unit = units_.of(id);
    if (assignment_[index(unit)] < 0) memory_[index(d)] += units_.memory(unit);
    assignment_[index(unit)] = d;
    end_[index(id)] = begin_on(id, d) + cluster_.time_ms(graph_.node(id), d) + setting_.op_ms;
    free_[index(d)] = end_[index(id)];
    inputs_at_[index(id)] = {};
  }

  const Graph& graph_;
  const Cluster& cluster_;
  const Units& units_;
  StepSetting setting_;
  StepTimes times_;
  std::vector<double> ways_;
  UnitAssignment assignment_;
  std::vector<double> end_;
  std::vector<std::vector<double>> inputs_at_;  // of ready nodes, on each device
  std::vector<double> free_, memory_;
};

}  // namespace

UnitAssignment list_schedule(const Graph& graph, const Cluster& cluster, const Units& units,
                             const StepSetting& setting, bool earliest_first) {
  return ListScheduler(graph, cluster, units, setting).run(earliest_first);
}

namespace {

base::Result<UnitAssignment> units_by_name(const Graph& graph, const Cluster& cluster,
                                           const Units& units, const Request& request,
                                           const StepSetting& setting, Budget& budget,
                                           double& lower_bound) {
  const Method method = request.method;
  if (method == Method::kList) return list_schedule(graph, cluster, units, setting, false);
  if (method == Method::kEtf) return list_schedule(graph, cluster, units, setting, true);
  if (method != Method::kAuto && method != Method::kLocalSearch) {
    return partition_by_name(graph, units, cluster, request, budget);
  }
  const Neighbours neighbours(units);
  SearchSpace space{units, neighbours, unit_order(graph, units), {}, {}};
  space.devices.resize(cluster.devices.size());
  std::iota(space.devices.begin(), space.devices.end(), 0);
  const CostModelMaker make = [&] { return step_model(graph, cluster, units, setting); };
  if (!request.kept.empty()) return search_kept(space, make, request, budget);
  std::vector<UnitAssignment> starts = {on_one_device(units, cluster)};
  if (method == Method::kAuto) {
    starts.push_back(list_schedule(graph, cluster, units, setting, false));
    if (graph.size() <= kMostEtfNodes) {
      starts.push_back(list_schedule(graph, cluster, units, setting, true));
    }
    starts.push_back(in_blocks(units, cluster, space.order));
    if (graph.size() <= kMostProgramNodes && cluster.size() <= kMostIlpDevices &&
        has_program(setting)) {
      Budget part = budget.part(kProgramTime, kProgramEvaluations);
      const IlpFound found = by_program(graph, cluster, setting, request, part);
      budget.absorb(part);
      lower_bound = std::max(lower_bound, found.lower_bound);
      starts.push_back(units.from_nodes(found.assignment));
    }
  }
  return search(space, make, starts, request, budget).assignment;
}

}  // namespace

bool has_program(const StepSetting& setting) {
  return setting.links != StepLinks::kRouted && setting.micro_batches == 1;
}

base::Result<StepSetting> checked_step(const Graph& graph, const Cluster& cluster,
                                       StepSetting setting) {
  const auto invalid = [](const std::string& message) {
    return base::Error{base::ErrorKind::kInvalid, message};
  };
  if (setting.micro_batches < 1 || setting.micro_batches > kMostMicroBatches) {
    return invalid("a step takes 1 to " + std::to_string(kMostMicroBatches) + " micro-batches");
  }
  if (std::int64_t{graph.size()} * setting.micro_batches > kMostItems) {
    return invalid("a step takes at most " + std::to_string(kMostItems) +
                   " nodes in all its micro-batches");
  }
  if (setting.links != StepLinks::kRouted) return setting;
  base::Result<Routes> routes = Routes::of(cluster);
  if (!routes.ok()) return routes.error();
  setting.routes = std::make_shared<const Routes>(std::move(routes).value());
  return setting;
}

base::Result<Answer> place_step(const Graph& graph, const Cluster& cluster, const Request& request,
                                Budget& budget) {
  const Units units = Units::of(graph, cluster);
  const base::Result<StepSetting> checked =
      checked_step(graph, cluster, {request.links, request.op_ms, request.micro_batches});
  if (!checked.ok()) return checked.error();
  const StepSetting& setting = checked.value();
  Answer answer;
  answer.lower_bound = step_bound(graph, cluster, setting);
  if (request.method == Method::kIlp) {
    if (!has_program(setting)) {
      return base::Error{base::ErrorKind::kInvalid,
                         "the method ilp takes no routed links and no micro-batches"};
    }
    if (cluster.size() > kMostIlpDevices) {
      return base::Error{
          base::ErrorKind::kInvalid,
          "the method ilp takes at most " + std::to_string(kMostIlpDevices) + " devices"};
    }
    IlpFound found = by_program(graph, cluster, setting, request, budget);
    answer.assignment = std::move(found.assignment);
    answer.lower_bound = std::max(answer.lower_bound, found.lower_bound);
  } else if (is_method_of(kPolicies, request.method)) {
    base::Result<std::vector<DeviceId>> found =
        policy::by_policy(graph, cluster, setting, request, budget);
    if (!found.ok()) return found.error();
    answer.assignment = std::move(found).value();
  } else {
    base::Result<UnitAssignment> found =
        units_by_name(graph, cluster, units, request, setting, budget, answer.lower_bound);
    if (!found.ok()) return found.error();
    answer.assignment = units.to_nodes(found.value());
  }
  answer.take(evaluate_step(graph, cluster, setting, answer.assignment));
  return answer;
}

}  // namespace optile::placement
