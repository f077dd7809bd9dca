#include "placement/bound.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "placement/latency/latency_program.h"
#include "placement/load/covering_bound.h"
#include "placement/step/ilp.h"
#include "placement/step/step.h"
#include "placement/units.h"

namespace optile::placement {

namespace {

// Of what adds up along a path of doubles.
constexpr double kRounding = 1e-6;

StepSetting setting_of(const Request& request) {
  return {request.links, request.op_ms, request.micro_batches};
}

}  // namespace

base::Status can_improve_bound(const Cluster& cluster, const Request& request) {
  if (request.objective != Objective::kStep) return {};
  if (!has_program(setting_of(request))) {
    return base::Error{base::ErrorKind::kInvalid,
                       "bounds of steps are improved for one batch and links that are not routed: "
                       "leave out --bound-time"};
  }
  if (cluster.size() > kMostIlpDevices) {
    return base::Error{base::ErrorKind::kInvalid, "bounds of steps are improved on at most " +
                                                      std::to_string(kMostIlpDevices) + " devices"};
  }
  return {};
}

void take_bound(double bound, Answer& answer) {
  if (!(bound > answer.lower_bound)) return;
  if (!answer.feasible) {
    answer.lower_bound = bound;
  } else if (bound <= answer.cost * (1 + kRounding)) {
    answer.lower_bound = std::min(bound, answer.cost);
  } else {
    answer.bound_fault = "the improved bound of " + std::to_string(bound) +
                         " ms cannot be right, since there is a placement of " +
                         std::to_string(answer.cost) + " ms: it is left out (a bug of optile)";
  }
}

void improve_bound(const Graph& graph, const Cluster& cluster, const Request& request,
                   Answer& answer) {
  if (!std::isfinite(answer.cost) || answer.gap() == 0) return;
  Limits limits;
  limits.seconds = request.bound_seconds;
  limits.cancelled = request.limits.cancelled;
  Budget budget(limits);
  if (request.objective == Objective::kLoad) {
    const Units units = Units::of(graph, cluster);
    const CoveringBound found =
        covering_bound({units, cluster}, answer.lower_bound, answer.cost, budget);
    take_bound(found.bound, answer);
  } else if (request.objective == Objective::kLatency) {
    take_bound(latency_program_bound(
                   graph, cluster, answer.lower_bound,
                   answer.feasible ? answer.cost : std::numeric_limits<double>::infinity(), budget),
               answer);
  } else {
    take_bound(by_program(graph, cluster, setting_of(request), request, budget).lower_bound,
               answer);
  }
  answer.bound_seconds = budget.seconds();
}

}  // namespace optile::placement
