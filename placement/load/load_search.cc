#include "placement/load/load_search.h"

#include <algorithm>
#include <utility>

#include "placement/load/ideals.h"
#include "placement/load/load_annealing.h"
#include "placement/methods/partitioners.h"

namespace optile::placement {
namespace {

constexpr int kLarge = 10'000;            // units, to be searched close to the starts
constexpr int kLongestExactChain = 1200;  // units, for the quadratic program over a chain
constexpr std::size_t kMostIdeals = 300'000;
constexpr double kSeedPart = 0.3;  // of time and evaluations, at most, for the starts

Candidate candidate(const LoadProblem& problem, std::vector<DeviceId> assignment, Budget& budget) {
  const LoadState state(problem, assignment);
  budget.count();
  return {std::move(assignment), {state.cost(), state.excess()}};
}

// Starts of other methods, the best first.
std::vector<Candidate> starts_of(const Graph& graph, const LoadProblem& problem,
                                 const Request& request, Budget& budget) {
  std::vector<Candidate> starts;
  const auto add = [&](std::vector<DeviceId> assignment) {
    starts.push_back(candidate(problem, std::move(assignment), budget));
  };
  const Units& units = problem.units;
  add(on_one_device(units, problem.cluster));
  for (const auto& order : {unit_order(graph, units), branch_order(graph, units)}) {
    add(in_blocks(units, problem.cluster, order));
    add(chain_cut(units, problem.cluster, order, kLongestExactChain, budget));
  }
  for (const auto& partition : {by_metis, by_scotch}) {
    base::Result<UnitAssignment> parts = partition(units, problem.cluster, request.seed);
    if (parts.ok()) add(std::move(parts).value());
  }
  std::sort(starts.begin(), starts.end());
  IdealsLimits limits;
  limits.ideals = kMostIdeals;
  if (starts.front().score.excess <= 0) limits.below = starts.front().score.cost;
  if (units.size() <= 5000) {
    Budget part = budget.part(kSeedPart);
    base::Result<IdealsFound> split = best_contiguous(graph, problem, limits, part);
    budget.absorb(part);
    if (split.ok() && !split.value().assignment.empty()) {
      add(std::move(split).value().assignment);
      std::sort(starts.begin(), starts.end());
    }
  }
  return starts;
}

// What all chains have in common.
struct Searched {
  const LoadProblem& problem;
  const Neighbours& neighbours;
  const PreviousPlacement& kept;
};

using Coolings = LoadCooling[kRounds][kChains];

// From several starts, hot and cold, then from the best four, then from the best two. All end cold:
// what is left to gain then are transfers of a thousandth of the cost.
constexpr Coolings kFromStarts = {
    {{0.5, 0.00003, 3}, {0.03, 0.00003, 4}, {0.001, 0.00003, 5}, {0.003, 0.00003, 5}},
    {{0.001, 0.00003, 5}, {0.0005, 0.00001, 6}, {0.001, 0.00002, 5}, {0.002, 0.00001, 5}},
    {{0.0005, 0.00001, 5}, {0.001, 0.00001, 6}, {0.001, 0.00001, 5}, {0.002, 0.00001, 7}}};
// Close to what was there: a graph that is so large that heat would not come to rest in time, or a
// placement that is to be kept.
constexpr Coolings kClose = {
    {{0.002, 0.00002, 5}, {0.001, 0.00001, 6}, {0.005, 0.00002, 5}, {0.0005, 0.00001, 7}},
    {{0.001, 0.00001, 6}, {0.0005, 0.00001, 6}, {0.002, 0.00002, 5}, {0.0002, 0.000005, 7}},
    {{0.0005, 0.00001, 6}, {0.0002, 0.000005, 7}, {0.001, 0.00001, 6}, {0.0001, 0.000002, 7}}};

std::vector<DeviceId> anneal(const Searched& searched, std::vector<Candidate> pool,
                             const Coolings& coolings, const Request& request, Budget& budget) {
  anneal_in_rounds(pool, coolings, {{0.4, 0.9, 0.95}, 2, 2}, request.seed, budget,
                   [&searched](const std::vector<DeviceId>& start, const LoadCooling& cooling,
                               std::uint64_t seed, Budget& part) -> Candidate {
                     LoadAnnealing annealing(searched.problem, searched.neighbours, searched.kept,
                                             start, seed);
                     annealing.run(cooling, part);
                     const LoadState state(searched.problem, annealing.best());
                     return {annealing.best(), {state.cost(), state.excess()}};
                   });
  LoadAnnealing polish(searched.problem, searched.neighbours, searched.kept,
                       pool.front().assignment, request.seed);
  polish.descend(budget);
  return polish.found() ? polish.best() : pool.front().assignment;
}

}  // namespace

std::vector<DeviceId> search_load(const Graph& graph, const LoadProblem& problem,
                                  const Request& request, Budget& budget) {
  const Neighbours neighbours(problem.units);
  if (request.kept.empty()) {
    const PreviousPlacement nothing;
    return anneal({problem, neighbours, nothing}, starts_of(graph, problem, request, budget),
                  problem.units.size() > kLarge ? kClose : kFromStarts, request, budget);
  }
  const PreviousPlacement kept(problem.units, request.kept, request.most_moved);
  UnitAssignment start = kept.start(problem.units, neighbours, working_devices(problem.cluster));
  make_runnable(problem.units, start);
  LoadAnnealing repair(problem, neighbours, kept, std::move(start), request.seed);
  Budget part = budget.part(kSeedPart);
  repair.descend(part);
  budget.absorb(part);
  const UnitAssignment& repaired = repair.found() ? repair.best() : repair.last();
  return anneal({problem, neighbours, kept}, {candidate(problem, repaired, budget)}, kClose,
                request, budget);
}

std::vector<DeviceId> descents(const LoadProblem& problem, int starts, std::uint64_t seed,
                               Budget& budget) {
  const Neighbours neighbours(problem.units);
  const PreviousPlacement kept;
  Candidate best = candidate(problem, at_random(problem.units, problem.cluster, seed), budget);
  for (int i = 0; i < starts && !budget.spent_now(); ++i) {
    LoadAnnealing annealing(
        problem, neighbours, kept,
        at_random(problem.units, problem.cluster, seed * 1000 + static_cast<std::uint64_t>(i)),
        seed);
    annealing.descend(budget);
    Candidate end = candidate(problem, annealing.best(), budget);
    if (end < best) best = std::move(end);
  }
  return best.assignment;
}

}  // namespace optile::placement
