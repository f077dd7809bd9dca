#include "placement/load/load_methods.h"

#include <algorithm>

#include "base/result.h"
#include "placement/load/ideals.h"
#include "placement/load/load_bound.h"
#include "placement/load/load_search.h"
#include "placement/load/load_state.h"
#include "placement/methods/partitioners.h"
#include "placement/methods/refine.h"

namespace optile::placement {
namespace {

using base::invalid;

constexpr int kDescents = 10;
constexpr int kLongestChain = 4000;

base::Result<std::vector<DeviceId>> expert_of(const Units& units, const Request& request) {
  if (request.expert.empty()) {
    return invalid(
        "the method expert needs a published split: in the graph, or by compare --experts DIR");
  }
  if (request.expert.size() != units.of_node().size()) {
    return invalid("the split has another number of nodes than the graph");
  }
  return units.from_nodes(request.expert);
}

base::Result<std::vector<DeviceId>> by_ideals(const Graph& graph, const LoadProblem& problem,
                                              Budget& budget) {
  IdealsLimits limits;
  // Whatever a chain reaches is contiguous too, so the best is at most that.
  const UnitAssignment chain = chain_cut(problem.units, problem.cluster,
                                         unit_order(graph, problem.units), kLongestChain, budget);
  const LoadState state(problem, chain);
  const bool good = state.feasible();
  if (good) limits.below = state.cost() * (1 + 1e-9);
  base::Result<IdealsFound> found = best_contiguous(graph, problem, limits, budget);
  if (!found.ok()) return found.error();
  if (!found.value().assignment.empty()) return std::move(found.value().assignment);
  if (good) return chain;
  return base::Error{base::ErrorKind::kNotFound, "no contiguous split fits the memory"};
}

base::Result<std::vector<DeviceId>> units_by_name(const Graph& graph, const LoadProblem& problem,
                                                  const Request& request, Budget& budget) {
  if (request.method == Method::kAuto) return search_load(graph, problem, request, budget);
  if (request.method == Method::kLocalSearch) {
    return descents(problem, kDescents, request.seed, budget);
  }
  if (request.method == Method::kIdealsDp) return by_ideals(graph, problem, budget);
  return partition_by_name(graph, problem.units, problem.cluster, request, budget);
}

}  // namespace

base::Result<std::vector<DeviceId>> partition_by_name(const Graph& graph, const Units& units,
                                                      const Cluster& cluster,
                                                      const Request& request, Budget& budget) {
  budget.count();
  switch (request.method) {
    case Method::kSingle:
      return on_one_device(units, cluster);
    case Method::kExpert:
      return expert_of(units, request);
    case Method::kRandom:
      return at_random(units, cluster, request.seed);
    case Method::kBlock:
      return in_blocks(units, cluster, unit_order(graph, units));
    case Method::kMetis:
      return by_metis(units, cluster, request.seed);
    case Method::kScotch:
      return by_scotch(units, cluster, request.seed);
    case Method::kPipedream:
      return chain_cut(units, cluster, unit_order(graph, units), kLongestChain, budget);
    case Method::kRefine:
      return refine(units, cluster, in_blocks(units, cluster, unit_order(graph, units)),
                    RefineOptions(), budget)
          .assignment;
    default:
      return base::Error{base::ErrorKind::kNotFound,
                         name_of(request.method) + " is no method of partitioning"};
  }
}

base::Result<Answer> place_load(const Graph& graph, const Cluster& cluster, const Request& request,
                                Budget& budget) {
  const Units units = Units::of(graph, cluster);
  const LoadProblem problem{units, cluster};
  base::Result<std::vector<DeviceId>> found = units_by_name(graph, problem, request, budget);
  if (!found.ok()) return found.error();
  Answer answer;
  answer.assignment = units.to_nodes(found.value());
  answer.take(evaluate_load(graph, cluster, answer.assignment));
  answer.lower_bound = work_bound(problem);
  return answer;
}

}  // namespace optile::placement
