#include "placement/strategy/solver.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "placement/strategy/core.h"
#include "placement/strategy/dual_bound.h"
#include "placement/strategy/elimination.h"
#include "placement/strategy/evaluator.h"
#include "small_problems.h"

namespace optile::placement {
namespace {

using testing::brute_force;
using testing::naive_cost;
using testing::random_problem;
using testing::solve_small;

StrategyProblem of_core(const StrategyProblem& problem, const Core& core) {
  StrategyProblem left = problem;
  for (std::size_t i = 0; i < left.nodes.size(); ++i) {
    for (std::size_t s = 0; s < left.nodes[i].costs.size(); ++s) {
      if (s != core.fixed[i]) left.nodes[i].costs[s] = kForbidden;
    }
  }
  for (const CoreNode& node : core.nodes) {
    for (std::uint16_t s : node.strategies) {
      left.nodes[node.original].costs[s] = problem.nodes[node.original].costs[s];
    }
    if (node.strategies.front() != 0) left.nodes[node.original].costs[0] = kForbidden;
  }
  return left;
}

TEST(Core, PreservesOptimum) {
  int reduced = 0;
  for (std::uint64_t seed = 1; seed <= 150; ++seed) {
    const StrategyProblem problem =
        random_problem({.limit = 0.1 * static_cast<double>(seed % 8)}, seed);
    const auto optimum = brute_force(problem);
    const auto core = make_core(problem);
    if (!core.ok()) {
      EXPECT_FALSE(optimum.has_value()) << core.message();
      continue;
    }
    EXPECT_EQ(brute_force(of_core(problem, core.value())), optimum) << seed;
    reduced += core.value().nodes.size() < problem.nodes.size() ? 1 : 0;
  }
  EXPECT_GT(reduced, 20);
}

TEST(Core, CostMatchesOriginalProblem) {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    const StrategyProblem problem = random_problem({.edges = 14}, seed);
    const auto core = make_core(problem);
    if (!core.ok()) continue;
    const std::vector<std::uint16_t> values(core.value().nodes.size(), 0);
    double sum = core.value().constant;
    for (const CoreNode& node : core.value().nodes) sum += node.costs[0];
    for (const CoreEdge& edge : core.value().edges) {
      sum += core.value().tables[edge.table].by_row[0];
    }
    const auto cost = naive_cost(problem, core.value().original_choice(values));
    if (cost) {
      EXPECT_EQ(sum, static_cast<double>(*cost)) << seed;
    } else {
      EXPECT_GE(sum, kWall);
    }
  }
}

Elimination::NodeCosts costs_of(const Core& core) {
  Elimination::NodeCosts costs;
  for (const CoreNode& node : core.nodes) costs.push_back(node.costs);
  return costs;
}

TEST(Elimination, IsExactWithoutHeldNodes) {
  int compared = 0;
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    const StrategyProblem problem =
        random_problem({.nodes = 8, .edges = 16, .forbid = seed % 2 == 0}, seed);
    const auto core = make_core(problem);
    if (!core.ok() || core.value().nodes.empty()) continue;
    std::vector<std::uint32_t> all(core.value().nodes.size());
    std::iota(all.begin(), all.end(), 0U);
    std::vector<std::uint16_t> values(all.size(), 0);
    std::mt19937_64 random(seed);
    Elimination elimination(core.value(), {});
    ASSERT_EQ(elimination.improve(all, costs_of(core.value()), nullptr, random, values), 0U);
    EXPECT_EQ(naive_cost(problem, core.value().original_choice(values)), brute_force(problem));
    ++compared;
  }
  EXPECT_GT(compared, 50);
}

TEST(Elimination, WindowNeverWorsensAndKeepsOtherNodes) {
  const StrategyProblem problem =
      random_problem({.nodes = 60, .edges = 150, .most_strategies = 5, .forbid = false}, 3);
  const auto core = make_core(problem);
  ASSERT_TRUE(core.ok());
  const auto costs = costs_of(core.value());
  std::vector<std::uint16_t> values(core.value().nodes.size(), 0);
  std::mt19937_64 random(1);
  Elimination tight(core.value(), {.table_entries = 60, .total_entries = 1 << 16});
  bool held = false;
  for (int i = 0; i < 100; ++i) {
    std::vector<std::uint32_t> window;
    for (std::uint32_t node = 0; node < values.size(); ++node) {
      if (random() % 2 == 0) window.push_back(node);
    }
    const std::vector<std::uint16_t> before = values;
    held |= tight.improve(window, costs, nullptr, random, values) > 0;
    EXPECT_LE(*naive_cost(problem, core.value().original_choice(values)),
              *naive_cost(problem, core.value().original_choice(before)));
    for (std::uint32_t node = 0; node < values.size(); ++node) {
      if (std::find(window.begin(), window.end(), node) == window.end()) {
        EXPECT_EQ(values[node], before[node]);
      }
    }
  }
  EXPECT_TRUE(held);
}

TEST(DualBound, StaysBelowOptimumForAnyPrices) {
  int tight = 0;
  for (std::uint64_t seed = 1; seed <= 120; ++seed) {
    const StrategyProblem problem = random_problem({.limit = seed % 3 == 0 ? 0.0 : 0.5}, seed);
    const auto optimum = brute_force(problem);
    const auto core = make_core(problem);
    if (!core.ok() || !optimum) continue;
    DualBound bound(core.value());
    MemoryPrices prices(core.value());
    std::mt19937_64 random(seed);
    double best = 0;
    for (int i = 0; i < 30; ++i) {
      const double found = bound.sweep();
      EXPECT_LE(found, static_cast<double>(*optimum)) << seed;
      best = std::max(best, found);
      std::vector<double> some(core.value().room.size());
      for (double& price : some) price = static_cast<double>(random() % 1000) / 700;
      if (i % 3 == 2 && prices.limited()) {
        prices.set(some);
        bound.set_prices(prices);
      }
    }
    tight += best > static_cast<double>(*optimum) - 1 ? 1 : 0;
  }
  EXPECT_GT(tight, 40);
}

TEST(DualBound, IsTightOnTrees) {
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    StrategyProblem problem = random_problem({.nodes = 9, .edges = 0, .forbid = false}, seed);
    std::mt19937_64 random(seed);
    TableStore store;
    for (std::uint32_t i = 1; i < 9; ++i) {
      const auto up = static_cast<std::uint32_t>(random() % i);
      CostTable table{problem.nodes[up].costs.size(), problem.nodes[i].costs.size(), {}};
      for (std::size_t k = 0; k < table.rows * table.columns; ++k) {
        table.costs.push_back(static_cast<Cost>(random() % 50));
      }
      const auto number = store.number_of(std::move(table), problem.tables);
      problem.edges.push_back({up, i, number});
    }
    const auto core = make_core(problem);
    ASSERT_TRUE(core.ok());
    DualBound bound(core.value());
    EXPECT_EQ(bound.sweep(), static_cast<double>(*brute_force(problem))) << seed;
  }
}

TEST(Solver, FindsOptimumOfSmallProblems) {
  int feasible = 0;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    const StrategyProblem problem =
        random_problem({.limit = 0.1 * static_cast<double>(seed % 7)}, seed);
    const auto optimum = brute_force(problem);
    const auto answer = solve_small(problem, optimum, seed);
    if (!answer) continue;
    ++feasible;
    EXPECT_EQ(answer->cost, static_cast<double>(*optimum)) << seed;
    EXPECT_LE(answer->lower_bound, static_cast<double>(*optimum)) << seed;
    const StrategyChoice choice(answer->assignment.begin(), answer->assignment.end());
    EXPECT_EQ(naive_cost(problem, choice), optimum);
  }
  EXPECT_GT(feasible, 25);
}

TEST(Solver, EliminationMethodProvesItsAnswer) {
  const StrategyProblem problem =
      random_problem({.nodes = 40, .edges = 55, .most_strategies = 6, .forbid = false}, 8);
  Budget budget;
  const auto answer = solve_strategy(problem, {.method = StrategyMethod::kElimination}, budget);
  ASSERT_TRUE(answer.ok()) << answer.message();
  EXPECT_EQ(answer.value().cost, answer.value().lower_bound);
}

TEST(Solver, IsDeterministicForSeedAndEvaluations) {
  const StrategyProblem problem = random_problem(
      {.nodes = 40, .edges = 90, .most_strategies = 5, .forbid = false, .limit = 0.3}, 4);
  std::vector<std::vector<std::int32_t>> answers;
  for (int i = 0; i < 2; ++i) {
    Budget budget({.evaluations = 40});
    const auto answer = solve_strategy(problem, {.seed = 9}, budget);
    ASSERT_TRUE(answer.ok());
    answers.push_back(answer.value().assignment);
    EXPECT_LE(answer.value().lower_bound, answer.value().cost);
  }
  EXPECT_EQ(answers[0], answers[1]);
}

TEST(Solver, RejectsInfeasibleProblems) {
  StrategyProblem problem = random_problem({.nodes = 3, .edges = 2, .forbid = false}, 1);
  for (StrategyNode& node : problem.nodes) {
    node.live = {0, 1};
    for (Usage& usage : node.usages) usage = 7;
  }
  problem.usage_limit = 20;
  Budget budget;
  EXPECT_THAT(solve_strategy(problem, {}, budget).message(),
              ::testing::HasSubstr("no choice is feasible"));
}

}  // namespace
}  // namespace optile::placement
