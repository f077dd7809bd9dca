#include "placement/strategy/evaluator.h"

#include <gtest/gtest.h>

#include <random>

#include "small_problems.h"

namespace optile::placement {
namespace {

TEST(UsageProfile, AgreesWithANaiveOne) {
  std::mt19937_64 random(5);
  for (std::uint32_t count : {1U, 2U, 5U, 16U, 37U}) {
    UsageProfile profile(count);
    std::vector<Usage> naive(count, 0);
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

TEST(UsageProfile, ThePeakIsAmongTheMoments) {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    const StrategyProblem problem = testing::random_problem({.nodes = 12, .times = 9}, seed);
    const StrategyChoice choice(problem.nodes.size(), 0);
    EXPECT_EQ(StrategyState(problem, choice).peak(), testing::naive_peak(problem, choice));
  }
}

TEST(StrategyState, EveryMoveAgreesWithTheDefinition) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const StrategyProblem problem =
        testing::random_problem({.nodes = 10, .edges = 20, .limit = 0.4}, seed);
    StrategyState state(problem, StrategyChoice(problem.nodes.size(), 0));
    std::mt19937_64 random(seed);
    for (int i = 0; i < 100; ++i) {
      const auto node = static_cast<std::uint32_t>(random() % problem.nodes.size());
      const auto strategy = static_cast<std::uint16_t>(random() % problem.nodes[node].costs.size());
      const Cost cost = state.cost() + state.delta(node, strategy).cost;
      const std::int64_t forbidden = state.forbidden() + state.delta(node, strategy).forbidden;
      const Usage local = state.peak_with(node, strategy);
      state.move(node, strategy);
      EXPECT_EQ(state.cost(), cost);
      EXPECT_EQ(state.forbidden(), forbidden);
      EXPECT_LE(local, state.peak());
      EXPECT_EQ(state.peak(), testing::naive_peak(problem, state.choice()));
      const auto naive = testing::naive_cost(problem, state.choice());
      EXPECT_EQ(state.feasible(), naive.has_value());
      if (naive) {
        EXPECT_EQ(state.cost(), *naive);
      }
    }
  }
}

}  // namespace
}  // namespace optile::placement
