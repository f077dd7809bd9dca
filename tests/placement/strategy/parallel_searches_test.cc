#include "placement/strategy/parallel_searches.h"

#include <gtest/gtest.h>

#include "small_problems.h"

namespace optile::placement {
namespace {

using testing::random_problem;
using Values = PricedSearch::Values;

// Two nodes that nothing joins but memory: cheaper by 10 and by 7 where they use all of it.
StrategyProblem two_nodes(Usage limit) {
  StrategyProblem problem;
  problem.nodes.push_back({.live = {0, 1}, .costs = {20, 10}, .usages = {0, 5}});
  problem.nodes.push_back({.live = {0, 1}, .costs = {30, 23}, .usages = {0, 5}});
  problem.usage_limit = limit;
  return problem;
}

// A core of both nodes as they are, which the reduction would decide where memory is enough.
Core core_of(const StrategyProblem& problem) {
  Core core;
  for (std::uint32_t i = 0; i < problem.nodes.size(); ++i) {
    const StrategyNode& node = problem.nodes[i];
    core.nodes.push_back({i, {0, 1}, {}, node.usages, {0, 1}});
    for (const Cost cost : node.costs) core.nodes.back().costs.push_back(static_cast<double>(cost));
  }
  core.neighbours.resize(problem.nodes.size());
  core.room = {*problem.usage_limit};
  core.greatest_usage = 5;
  core.fixed = {0, 0};
  return core;
}

TEST(CommonChoice, CombinesImprovementsOfBothSearches) {
  const StrategyProblem problem = two_nodes(10);
  const Core core = core_of(problem);
  PricedSearch one(problem, core, {0, 0}, {0}, 1);
  PricedSearch other(problem, core, {0, 0}, {0}, 2);
  one.join({1, 0}, {});
  other.join({0, 1}, {});
  CommonChoice common;
  CommonChoice::Share of_one{{0, 0}, 0};
  CommonChoice::Share of_other{{0, 0}, 0};
  common.exchange(one, of_one);
  common.exchange(other, of_other);
  EXPECT_EQ(other.best().cost, 33);
  common.exchange(one, of_one);
  EXPECT_EQ(one.best().cost, 33);
  EXPECT_EQ(one.best().values, (Values{1, 1}));
}

TEST(CommonChoice, KeepsCheaperChoiceWhenMemoryIsShort) {
  const StrategyProblem problem = two_nodes(5);
  const Core core = core_of(problem);
  for (const bool cheaper_first : {true, false}) {
    PricedSearch one(problem, core, {0, 0}, {0}, 1);
    PricedSearch other(problem, core, {0, 0}, {0}, 2);
    one.join(cheaper_first ? Values{1, 0} : Values{0, 1}, {});
    other.join(cheaper_first ? Values{0, 1} : Values{1, 0}, {});
    CommonChoice common;
    CommonChoice::Share of_one{{0, 0}, 0};
    CommonChoice::Share of_other{{0, 0}, 0};
    common.exchange(one, of_one);
    common.exchange(other, of_other);
    common.exchange(one, of_one);
    EXPECT_EQ(one.best().cost, 40);
    EXPECT_EQ(other.best().cost, 40);
    EXPECT_EQ(one.best().values, (Values{1, 0}));
  }
}

TEST(CommonChoice, ExchangeNeverWorsensSearch) {
  const StrategyProblem problem = random_problem(
      {.nodes = 120, .edges = 260, .most_strategies = 5, .forbid = false, .limit = 0.3}, 5);
  const auto core = make_core(problem);
  ASSERT_TRUE(core.ok());
  const Values start(core.value().nodes.size(), 0);
  const std::vector<double> prices(core.value().room.size(), 0.5);
  PricedSearch one(problem, core.value(), start, prices, 1);
  PricedSearch other(problem, core.value(), start, prices, 2);
  Budget budget;
  for (int i = 0; i < 200 && !(one.found() && other.found()); ++i) {
    one.pass(budget);
    other.pass(budget);
  }
  ASSERT_TRUE(one.found() && other.found());
  CommonChoice common;
  CommonChoice::Share of_one;
  CommonChoice::Share of_other;
  for (int i = 0; i < 40; ++i) {
    one.polish(budget);
    other.polish(budget);
    const Total least = std::min(one.best().cost, other.best().cost);
    common.exchange(one, of_one);
    common.exchange(other, of_other);
    common.exchange(one, of_one);
    EXPECT_LE(one.best().cost, least);
    EXPECT_EQ(one.best().cost, other.best().cost);
    const StrategyState state(problem, *one.best().choice);
    EXPECT_TRUE(state.feasible());
    EXPECT_EQ(state.cost(), one.best().cost);
  }
}

}  // namespace
}  // namespace optile::placement
