#include "placement/strategy/evaluator.h"

#include <gtest/gtest.h>

#include <limits>
#include <random>

#include "small_problems.h"

namespace optile::placement {
namespace {

TEST(UsageProfile, MatchesNaiveProfile) {
  std::mt19937_64 random(5);
  for (std::uint32_t count : {1U, 2U, 5U, 16U, 37U}) {
    UsageProfile profile(count);
    std::vector<Total> naive(count, 0);
    for (int i = 0; i < 300; ++i) {
      const auto begin = static_cast<std::uint32_t>(random() % count);
      const auto end = begin + 1 + static_cast<std::uint32_t>(random() % (count - begin));
      const auto amount = static_cast<Usage>(random() % 100) - 50;
      profile.add({begin, end}, amount);
      for (std::uint32_t t = begin; t < end; ++t) naive[t] += amount;
      const auto from = static_cast<std::uint32_t>(random() % count);
      const auto to = from + 1 + static_cast<std::uint32_t>(random() % (count - from));
      EXPECT_EQ(profile.greatest({from, to}),
                *std::max_element(naive.begin() + from, naive.begin() + to));
      EXPECT_EQ(profile.greatest(), *std::max_element(naive.begin(), naive.end()));
    }
    EXPECT_EQ(profile.values(), naive);
  }
}

TEST(UsageProfile, PeakMatchesNaivePeak) {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    const StrategyProblem problem = testing::random_problem({.nodes = 12, .times = 9}, seed);
    const StrategyChoice choice(problem.nodes.size(), 0);
    EXPECT_EQ(StrategyState(problem, choice).peak(), testing::naive_peak(problem, choice));
  }
}

TEST(StrategyState, MovesMatchNaiveCostAndPeak) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const StrategyProblem problem =
        testing::random_problem({.nodes = 10, .edges = 20, .limit = 0.4}, seed);
    StrategyState state(problem, StrategyChoice(problem.nodes.size(), 0));
    std::mt19937_64 random(seed);
    for (int i = 0; i < 100; ++i) {
      const auto node = static_cast<std::uint32_t>(random() % problem.nodes.size());
      const auto strategy = static_cast<std::uint16_t>(random() % problem.nodes[node].costs.size());
      const Total cost = state.cost() + state.delta(node, strategy).cost;
      const std::int64_t forbidden = state.forbidden() + state.delta(node, strategy).forbidden;
      state.move(node, strategy);
      EXPECT_EQ(state.cost(), cost);
      EXPECT_EQ(state.forbidden(), forbidden);
      EXPECT_EQ(state.peak(), testing::naive_peak(problem, state.choice()));
      const auto naive = testing::naive_cost(problem, state.choice());
      EXPECT_EQ(state.feasible(), naive.has_value());
      if (naive) {
        EXPECT_EQ(state.cost(), *naive);
      }
    }
  }
}

TEST(StrategyState, SumsBeyond64BitsAreExact) {
  constexpr Cost kGreatest = kForbidden - 1;
  StrategyProblem problem;
  for (int i = 0; i < 20; ++i) {
    problem.nodes.push_back({.live = {0, 1},
                             .costs = {kGreatest, 1},
                             .usages = {std::numeric_limits<Usage>::max(), 0}});
  }
  problem.tables.push_back({2, 2, {kGreatest, 0, 0, 0}});
  for (std::uint32_t i = 0; i + 1 < 20; ++i) problem.edges.push_back({i, i + 1, 0});
  ASSERT_TRUE(check(problem).ok());
  problem.usage_limit = std::numeric_limits<Usage>::max();
  StrategyState state(problem, StrategyChoice(20, 0));
  EXPECT_TRUE(state.cost() == Total{39} * kGreatest);
  EXPECT_TRUE(greatest_sum(problem) == Total{39} * kGreatest);
  EXPECT_TRUE(state.peak() == Total{20} * *problem.usage_limit);
  EXPECT_FALSE(state.feasible());
  for (std::uint32_t i = 1; i < 20; ++i) state.move(i, 1);
  EXPECT_EQ(state.cost(), Total{kGreatest} + 19);
  EXPECT_EQ(state.peak(), *problem.usage_limit);
  EXPECT_TRUE(state.feasible());
}

}  // namespace
}  // namespace optile::placement
