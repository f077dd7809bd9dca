#include "placement/place.h"

#include <algorithm>

#include "placement/bound.h"
#include "placement/latency/latency.h"
#include "placement/load/load_methods.h"
#include "placement/step/step.h"

namespace optile::placement {
namespace {

// By which a bound may exceed the cost that it equals: both are sums, in different orders.
constexpr double kBoundRounding = 1e-9;

base::Result<Answer> place_by_objective(const Graph& graph, const Cluster& cluster,
                                        const Request& request, Budget& budget) {
  if (request.objective == Objective::kLoad) return place_load(graph, cluster, request, budget);
  if (request.objective == Objective::kLatency) {
    return place_latency(graph, cluster, request, budget);
  }
  return place_step(graph, cluster, request, budget);
}

void count_moves(const Request& request, Answer& answer) {
  answer.moved = 0;
  for (std::size_t i = 0; i < request.kept.size(); ++i) {
    if (request.kept[i] >= 0 && request.kept[i] != answer.assignment[i]) ++answer.moved;
  }
  if (static_cast<std::uint64_t>(answer.moved) <= request.most_moved || !answer.feasible) return;
  answer.feasible = false;
  answer.violation = std::to_string(answer.moved) + " nodes move and only " +
                     std::to_string(request.most_moved) + " may";
}

}  // namespace

base::Result<Answer> place(const Graph& graph, const Cluster& cluster, const Request& request) {
  const base::Status good = cluster.check();
  if (!good.ok()) return good.error();
  if (!is_method_of(methods_of(request.objective), request.method)) {
    return base::invalid("there is no method " + name_of(request.method) +
                         " for this objective; there are " +
                         names_of(methods_of(request.objective)));
  }
  if (!request.kept.empty() && request.method != Method::kAuto) {
    return base::invalid("only the method auto starts from an earlier placement");
  }
  const bool bounds = request.bound_seconds > 0;
  const base::Status can = bounds ? can_improve_bound(cluster, request) : base::Status();
  if (!can.ok()) return can.error();
  Budget budget(request.limits);
  base::Result<Answer> answer = place_by_objective(graph, cluster, request, budget);
  if (!answer.ok()) return answer;
  if (answer.value().feasible &&
      answer.value().lower_bound <= answer.value().cost * (1 + kBoundRounding)) {
    answer.value().lower_bound = std::min(answer.value().lower_bound, answer.value().cost);
  }
  answer.value().method = name_of(request.method);
  answer.value().seed = request.seed;
  answer.value().seconds = budget.seconds();
  answer.value().evaluations = budget.evaluations();
  if (bounds) improve_bound(graph, cluster, request, answer.value());
  if (!request.kept.empty()) count_moves(request, answer.value());
  return answer;
}

}  // namespace optile::placement
