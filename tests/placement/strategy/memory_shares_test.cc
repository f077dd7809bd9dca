#include "placement/strategy/memory_shares.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <numeric>

#include "placement/strategy/memory_prices.h"
#include "placement/strategy/solver.h"
#include "small_problems.h"

namespace optile::placement {
namespace {

using testing::naive_cost;
using testing::random_problem;

bool keeps_limit(const Core& core, const std::vector<std::uint16_t>& values) {
  const std::vector<Total> use = usage_of(core, values);
  for (std::size_t i = 0; i < use.size(); ++i) {
    if (use[i] > core.room[i]) return false;
  }
  return true;
}

// The greatest that each node may use, and its least beyond the window.
std::vector<std::uint16_t> greediest(const Core& core, const std::vector<std::uint32_t>& window,
                                     const std::vector<Usage>& shares,
                                     std::vector<std::uint16_t> values) {
  for (std::size_t i = 0; i < window.size(); ++i) {
    const std::vector<Usage>& usages = core.nodes[window[i]].usages;
    Usage most = -1;
    for (std::size_t s = 0; s < usages.size(); ++s) {
      if (usages[s] > shares[i] || usages[s] <= most) continue;
      most = usages[s];
      values[window[i]] = static_cast<std::uint16_t>(s);
    }
    EXPECT_EQ(most, shares[i]);
  }
  return values;
}

TEST(MemoryShares, UsingFullSharesKeepsLimit) {
  int divided = 0;
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    const auto core =
        make_core(random_problem({.nodes = 12, .edges = 14, .forbid = false, .limit = 0.4}, seed));
    if (!core.ok() || core.value().room.empty()) continue;
    const Core& of = core.value();
    std::mt19937_64 random(seed);
    std::vector<std::uint16_t> values;
    for (const CoreNode& node : of.nodes) {
      const auto least = std::min_element(node.usages.begin(), node.usages.end());
      values.push_back(static_cast<std::uint16_t>(least - node.usages.begin()));
    }
    const MemoryShares shares(of);
    for (int i = 0; i < 20; ++i) {
      ASSERT_TRUE(keeps_limit(of, values)) << seed;
      std::vector<std::uint32_t> window =
          shares.competitors(std::vector<double>(of.room.size(), 1), 5, random);
      if (window.empty()) break;
      const Usage before = of.nodes[window[0]].usages[values[window[0]]];
      const std::vector<Usage> divided_now = shares.divide(window, values, random);
      if (before > 0) {
        EXPECT_LT(divided_now[0], before);
      }
      values = greediest(of, window, divided_now, values);
      ++divided;
    }
  }
  EXPECT_GT(divided, 1000);
}

TEST(MemoryShares, HasNoCompetitorsAtZeroPrices) {
  const auto core = make_core(random_problem({.forbid = false, .limit = 0.3}, 3));
  ASSERT_TRUE(core.ok());
  std::mt19937_64 random(1);
  const std::vector<double> prices(core.value().room.size(), 0);
  EXPECT_TRUE(MemoryShares(core.value()).competitors(prices, 4, random).empty());
}

constexpr std::size_t kStars = 12;
constexpr std::size_t kLeaves = 6;
constexpr std::size_t kLevels = 6;
constexpr Usage kRoom = 61;

// Stars whose middles live at one moment and are large there, in steps of different sizes, so that
// what fits is a knapsack.
StrategyProblem stars(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  StrategyProblem problem;
  TableStore store;
  problem.usage_limit = kRoom;
  for (std::uint32_t star = 0; star < kStars; ++star) {
    const auto middle = static_cast<std::uint32_t>(problem.nodes.size());
    const auto step = static_cast<Usage>(2 + random() % 3);
    const auto worth = static_cast<Cost>(300 + random() % 150);
    StrategyNode node{.live = {0, 1}, .costs = {}, .usages = {}};
    for (std::size_t level = 0; level < kLevels; ++level) {
      node.usages.push_back(static_cast<Usage>(level) * step);
      const std::size_t less = kLevels - 1 - level;
      node.costs.push_back(worth * static_cast<Cost>(less * less + random() % 3));
    }
    problem.nodes.push_back(node);
    for (std::size_t leaf = 0; leaf < kLeaves; ++leaf) {
      CostTable table{kLevels, 3, {}};
      for (std::size_t k = 0; k < kLevels * 3; ++k) {
        table.costs.push_back(static_cast<Cost>(random() % 200));
      }
      problem.edges.push_back({middle, static_cast<std::uint32_t>(problem.nodes.size()),
                               store.number_of(std::move(table), problem.tables)});
      problem.nodes.push_back({.live = {0, 0}, .costs = {30, 60, 10}, .usages = {0, 0, 0}});
    }
  }
  return problem;
}

// What a star costs at each level of its middle, each leaf at its best.
std::vector<Cost> costs_of_star(const StrategyProblem& problem, std::size_t star) {
  const std::size_t middle = star * (1 + kLeaves);
  std::vector<Cost> costs = problem.nodes[middle].costs;
  for (std::size_t leaf = 0; leaf < kLeaves; ++leaf) {
    const CostTable& table = problem.tables[problem.edges[star * kLeaves + leaf].table];
    const std::vector<Cost>& own = problem.nodes[middle + 1 + leaf].costs;
    for (std::size_t level = 0; level < kLevels; ++level) {
      costs[level] += std::min(
          {table.at(level, 0) + own[0], table.at(level, 1) + own[1], table.at(level, 2) + own[2]});
    }
  }
  return costs;
}

Cost knapsack(const StrategyProblem& problem) {
  std::vector<Cost> best(kRoom + 1, 0);
  for (std::size_t star = 0; star < kStars; ++star) {
    const std::vector<Cost> costs = costs_of_star(problem, star);
    const std::vector<Usage>& usages = problem.nodes[star * (1 + kLeaves)].usages;
    std::vector<Cost> with(best.size(), kForbidden);
    for (std::size_t room = 0; room < best.size(); ++room) {
      for (std::size_t level = 0; level < kLevels; ++level) {
        const auto use = static_cast<std::size_t>(usages[level]);
        if (use <= room) with[room] = std::min(with[room], best[room - use] + costs[level]);
      }
    }
    best = with;
  }
  return best.back();
}

TEST(Solver, ApproachesOptimumOfKnapsackProblems) {
  int exact = 0;
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    const StrategyProblem problem = stars(seed);
    const Cost optimum = knapsack(problem);
    Budget budget({.evaluations = 1500});
    const auto answer = solve_strategy(problem, {.seed = seed}, budget);
    ASSERT_TRUE(answer.ok()) << answer.message();
    const StrategyChoice choice(answer.value().assignment.begin(), answer.value().assignment.end());
    EXPECT_EQ(naive_cost(problem, choice), static_cast<Cost>(answer.value().cost));
    EXPECT_GE(answer.value().cost, static_cast<double>(optimum)) << seed;
    EXPECT_LE(answer.value().lower_bound, static_cast<double>(optimum)) << seed;
    EXPECT_LE(answer.value().cost, 1.02 * static_cast<double>(optimum)) << seed;
    exact += answer.value().cost == static_cast<double>(optimum) ? 1 : 0;
  }
  EXPECT_GE(exact, 6);
}

// With time alone several searches run at once. The clock goes on by being looked at, so that they
// get as much done on any machine.
TEST(Solver, ParallelSearchesReachKnapsackOptimum) {
  int exact = 0;
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    const StrategyProblem problem = stars(seed);
    const Cost optimum = knapsack(problem);
    std::atomic<int> looks = 0;
    Budget budget({.seconds = 4},
                  [&looks] { return Budget::Time(std::chrono::milliseconds(++looks)); });
    const auto answer = solve_strategy(problem, {.seed = seed}, budget);
    ASSERT_TRUE(answer.ok()) << answer.message();
    ASSERT_TRUE(answer.value().feasible) << seed;
    const StrategyChoice choice(answer.value().assignment.begin(), answer.value().assignment.end());
    EXPECT_EQ(naive_cost(problem, choice), static_cast<Cost>(answer.value().cost));
    EXPECT_GE(answer.value().cost, static_cast<double>(optimum)) << seed;
    EXPECT_LE(answer.value().lower_bound, static_cast<double>(optimum)) << seed;
    exact += answer.value().cost == static_cast<double>(optimum) ? 1 : 0;
  }
  EXPECT_GE(exact, 1);
}

}  // namespace
}  // namespace optile::placement
