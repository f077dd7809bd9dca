#include "placement/strategy/cost_scale.h"

#include <gtest/gtest.h>

#include <random>

#include "placement/strategy/core.h"
#include "placement/strategy/dual_bound.h"
#include "placement/strategy/solver.h"
#include "small_problems.h"

namespace optile::placement {
namespace {

using testing::brute_force;
using testing::naive_cost;
using testing::random_problem;
using testing::Shape;
using testing::solve_small;

TEST(CostScale, IsExactUpTo51Bits) {
  std::mt19937_64 random(1);
  for (int bits = 1; bits <= 51; ++bits) {
    const CostScale scale((Total{1} << bits) - 1);
    EXPECT_TRUE(scale.exact()) << bits;
    for (int i = 0; i < 100; ++i) {
      const auto cost = static_cast<Cost>(random() >> (64 - bits));
      EXPECT_LT(scale.scaled(cost), kWall / 2);
      EXPECT_EQ(scale.at_least(scale.scaled(cost)), cost) << bits;
    }
  }
}

TEST(CostScale, RoundsDownBeyond51Bits) {
  std::mt19937_64 random(2);
  for (int bits = 52; bits <= 86; ++bits) {
    const CostScale scale(Total{1} << bits);
    EXPECT_FALSE(scale.exact()) << bits;
    const Cost most = std::min(kForbidden, Cost{1} << std::min(62, bits));
    for (int i = 0; i < 100; ++i) {
      const auto cost = static_cast<Cost>(random() % static_cast<std::uint64_t>(most));
      EXPECT_LE(scale.at_least(scale.scaled(cost)), cost);
      EXPECT_GE(scale.at_least(scale.scaled(cost)), cost - (Cost{1} << std::min(62, bits - 50)));
    }
  }
}

TEST(CostScale, ForbiddenStaysForbidden) {
  EXPECT_EQ(CostScale(10).scaled(kForbidden), kWall);
  EXPECT_EQ(CostScale(Total{1} << 80).scaled(std::numeric_limits<Cost>::max()), kWall);
  EXPECT_LT(CostScale(Total{3} * kForbidden).scaled(kForbidden - 1), kWall);
}

TEST(CostScale, RoundsBoundsUpToWholeCosts) {
  EXPECT_EQ(CostScale(100).at_least(7 + 1 / kGrid), 8);
  EXPECT_EQ(CostScale(100).at_least(-7 - 1 / kGrid), -7);
  EXPECT_EQ(CostScale(Total{1} << 43).at_least(0.25), 2);  // in units of 8
}

// Costs and usages as large as the format has them, beside small ones.
Shape huge(std::uint64_t seed) {
  const auto bits = static_cast<int>(30 + seed % 31);
  Shape shape{.limit = 0.15 * static_cast<double>(seed % 6)};
  shape.costs = std::min(kForbidden, Cost{1} << bits);
  shape.usages = Usage{1} << (seed % 60 + 1);
  return shape;
}

TEST(Core, CostIsLowerBoundForHugeCosts) {
  int compared = 0;
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    const StrategyProblem problem = random_problem(huge(seed), seed);
    const auto core = make_core(problem);
    if (!core.ok()) continue;
    std::mt19937_64 random(seed);
    for (int i = 0; i < 20; ++i) {
      std::vector<std::uint16_t> values;
      for (const CoreNode& node : core.value().nodes) {
        values.push_back(static_cast<std::uint16_t>(random() % node.costs.size()));
      }
      const auto cost = naive_cost(problem, core.value().original_choice(values));
      if (!cost) continue;
      const Total here = core.value().scale.at_least(core.value().cost(values));
      EXPECT_LE(here, *cost) << seed;
      if (core.value().scale.exact()) {
        EXPECT_EQ(here, *cost) << seed;
      }
      ++compared;
    }
  }
  EXPECT_GT(compared, 1000);
}

TEST(DualBound, StaysBelowOptimumForHugeCosts) {
  int tight = 0;
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    const Shape shape = huge(seed);
    const StrategyProblem problem = random_problem(shape, seed);
    const auto optimum = brute_force(problem);
    const auto core = make_core(problem);
    if (!core.ok() || !optimum) continue;
    const CostScale& scale = core.value().scale;
    DualBound bound(core.value());
    MemoryPrices prices(core.value());
    std::mt19937_64 random(seed);
    const double typical = scale.nearest(shape.costs) / static_cast<double>(shape.usages);
    Total best = 0;
    for (int i = 0; i < 30; ++i) {
      const Total found = scale.at_least(bound.sweep());
      ASSERT_LE(found, *optimum) << seed;
      best = std::max(best, found);
      std::vector<double> some(core.value().room.size());
      const double level = std::exp2(static_cast<double>(i) - 15);  // far too high at the end
      for (double& price : some) price = level * typical * static_cast<double>(random() % 1000);
      if (i % 3 == 2 && prices.limited()) {
        prices.set(some);
        bound.set_prices(prices);
      }
    }
    tight += static_cast<double>(best) >= 0.999 * static_cast<double>(*optimum) ? 1 : 0;
  }
  EXPECT_GT(tight, 100);
}

TEST(Solver, SolvesProblemsWithHugeCosts) {
  int feasible = 0;
  int proven = 0;
  for (std::uint64_t seed = 1; seed <= 120; ++seed) {
    const StrategyProblem problem = random_problem(huge(seed), seed);
    const auto optimum = brute_force(problem);
    const auto answer = solve_small(problem, optimum, seed);
    if (!answer) continue;
    ++feasible;
    const StrategyChoice choice(answer->assignment.begin(), answer->assignment.end());
    const auto cost = naive_cost(problem, choice);
    ASSERT_TRUE(cost.has_value()) << seed;
    EXPECT_EQ(answer->cost, static_cast<double>(*cost));
    EXPECT_LE(static_cast<Total>(answer->lower_bound), *optimum) << seed;
    EXPECT_NEAR(answer->cost, static_cast<double>(*optimum), 1e-9 * static_cast<double>(*optimum));
    proven += answer->gap() < 1e-9 ? 1 : 0;
  }
  EXPECT_GT(feasible, 80);
  EXPECT_GT(proven, 50);
}

}  // namespace
}  // namespace optile::placement
