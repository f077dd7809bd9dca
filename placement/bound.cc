#include "placement/bound.h"

#include <algorithm>
#include <cmath>

#include "placement/latency/latency_program.h"
#include "placement/load/covering_bound.h"
#include "placement/step/ilp.h"
#include "placement/units.h"

namespace optile::placement {

base::Status can_improve_bound(const Cluster& cluster, const Request& request) {
  if (request.objective == Objective::kStep && cluster.size() > kMostIlpDevices) {
    return base::Error{base::ErrorKind::kInvalid, "bounds of steps are improved on at most " +
                                                      std::to_string(kMostIlpDevices) + " devices"};
  }
  return {};
}

void improve_bound(const Graph& graph, const Cluster& cluster, const Request& request,
                   Answer& answer) {
  if (!std::isfinite(answer.cost) || answer.gap() == 0) return;
  Limits limits;
  limits.seconds = request.bound_seconds;
  limits.cancelled = request.limits.cancelled;
  Budget budget(limits);
  const auto improved = [&](double bound) {
    if (!request.progress) return;
    Progress at;
    at.seconds = budget.seconds();
    at.cost = answer.cost;
    at.lower_bound = bound;
    request.progress(at);
  };
  if (request.objective == Objective::kLoad) {
    const Units units = Units::of(graph, cluster);
    const CoveringBound found =
        covering_bound({units, cluster}, answer.lower_bound, answer.cost, improved, budget);
    answer.lower_bound = found.bound;
  } else if (request.objective == Objective::kLatency) {
    answer.lower_bound = latency_program_bound(
        graph, cluster, answer.lower_bound,
        answer.feasible ? answer.cost : std::numeric_limits<double>::infinity(), budget);
  } else {
    Request quiet = request;
    quiet.progress = nullptr;
    const StepSetting setting{request.links, request.op_ms};
    answer.lower_bound = std::max(answer.lower_bound,
                                  by_program(graph, cluster, setting, quiet, budget).lower_bound);
  }
  // What is proven to a rounding error is proven.
  if (answer.feasible) answer.lower_bound = std::min(answer.lower_bound, answer.cost);
  answer.bound_seconds = budget.seconds();
}

}  // namespace optile::placement
