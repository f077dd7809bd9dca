#include "placement/place.h"

#include <algorithm>

#include "placement/latency/latency.h"
#include "placement/load/load_methods.h"
#include "placement/step/step.h"

namespace optile::placement {

namespace {

base::Result<Answer> place_by_objective(const Graph& graph, const Cluster& cluster,
                                        const Request& request, Budget& budget) {
  if (request.objective == Objective::kLoad) return place_load(graph, cluster, request, budget);
  if (request.objective == Objective::kLatency) {
    return place_latency(graph, cluster, request, budget);
  }
  return place_step(graph, cluster, request, budget);
}

}  // namespace

std::vector<std::string> methods_of(Objective objective) {
  if (objective == Objective::kLoad) return load_methods();
  return objective == Objective::kLatency ? latency_methods() : step_methods();
}

base::Result<Answer> place(const Graph& graph, const Cluster& cluster, const Request& request) {
  const base::Status good = cluster.check();
  if (!good.ok()) return good.error();
  const std::vector<std::string> names = methods_of(request.objective);
  if (std::find(names.begin(), names.end(), request.method) == names.end()) {
    std::string known;
    for (const std::string& name : names) known += (known.empty() ? "" : ", ") + name;
    return base::Error{base::ErrorKind::kInvalid, "there is no method " + request.method +
                                                      " for this objective; there are " + known};
  }
  Budget budget(request.limits);
  base::Result<Answer> answer = place_by_objective(graph, cluster, request, budget);
  if (!answer.ok()) return answer;
  answer.value().method = request.method;
  answer.value().seed = request.seed;
  answer.value().seconds = budget.seconds();
  answer.value().evaluations = budget.evaluations();
  return answer;
}

}  // namespace optile::placement
