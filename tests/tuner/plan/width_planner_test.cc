#include "tuner/plan/width_planner.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>

namespace optile::tuner {
namespace {

using perfmodel::Nanoseconds;

constexpr double kMs = 1e6;

// Times in ms at widths 1, 2, ...; half a percent of uncertainty.
PlannedOp planned_op(std::vector<double> ms, std::string name = "op") {
  PlannedOp op;
  op.name = std::move(name);
  double best = 0;
  for (std::size_t i = 0; i < ms.size(); ++i) {
    const int width = static_cast<int>(i) + 1;
    op.widths.push_back({width, ms[i] * kMs, 0.005 * ms[i] * kMs});
    if (best == 0 || ms[i] < best) {
      best = ms[i];
      op.best_width = width;
      op.best_rule = Rule::kFastest;
    }
  }
  return op;
}

PlannerProblem problem_of(std::vector<PlannedOp> ops, double change_ms) {
  PlannerProblem problem;
  problem.ops = std::move(ops);
  for (std::size_t i = 0; i < problem.ops.size(); ++i) problem.order.push_back(static_cast<int>(i));
  problem.default_width = 4;
  problem.cost = perfmodel::SwitchingCost(perfmodel::Runtime::kLlvm);
  problem.cost.learn(Nanoseconds(static_cast<int64_t>(change_ms * kMs)), 1);
  return problem;
}

std::vector<PlannedOp> varied() {
  return {planned_op({9, 4, 5, 8}), planned_op({9, 5, 4, 6}), planned_op({8, 4, 3, 2}),
          planned_op({9, 4, 6, 8}), planned_op({6, 5, 4, 5})};
}

TEST(WidthPlanner, EqualsStrategyOneWithoutSwitchingCost) {
  const PlannerProblem problem = problem_of(varied(), 0);
  EXPECT_EQ(plan_shortest_path(problem).widths, plan_each_best(problem).widths);
  EXPECT_EQ(plan_each_best(problem).widths, (std::vector<int>{2, 3, 4, 2, 3}));
}

TEST(WidthPlanner, UsesOneWidthWhenSwitchingIsCostly) {
  const PlannerProblem problem = problem_of(varied(), 1000);
  const WidthPlan plan = plan_shortest_path(problem);
  EXPECT_EQ(std::set<int>(plan.widths.begin(), plan.widths.end()).size(), 1u);
  EXPECT_EQ(plan.widths, plan_uniform(problem).widths);
  EXPECT_EQ(plan.changes, 0);
}

TEST(WidthPlanner, ChargesNothingForWidthOne) {
  const PlannerProblem problem = problem_of(
      {planned_op({9, 5, 4, 3}), planned_op({1, 2, 3, 4}), planned_op({9, 5, 4, 3})}, 1000);
  const WidthPlan plan = plan_shortest_path(problem);
  EXPECT_EQ(plan.widths, (std::vector<int>{4, 1, 4}));
  EXPECT_EQ(plan.changes, 0);
  EXPECT_DOUBLE_EQ(plan.switching_ns, 0);
}

TEST(WidthPlanner, ChangesWidthForSegmentThatPaysForIt) {
  std::vector<PlannedOp> ops;
  for (int i = 0; i < 4; ++i) ops.push_back(planned_op({9, 5, 4, 3}));
  for (int i = 0; i < 4; ++i) ops.push_back(planned_op({9, 2, 3, 4}));
  const WidthPlan cheap = plan_shortest_path(problem_of(ops, 1));
  EXPECT_EQ(cheap.widths, (std::vector<int>{4, 4, 4, 4, 2, 2, 2, 2}));
  EXPECT_EQ(cheap.changes, 2);
  const WidthPlan dear = plan_shortest_path(problem_of(ops, 5));
  EXPECT_EQ(dear.changes, 0);
}

TEST(WidthPlanner, OneTeamRuntimeGetsWidthOneAndOneOther) {
  PlannerProblem problem = problem_of(varied(), 0.01);
  problem.ops.push_back(planned_op({1, 2, 3, 4}));
  problem.order.push_back(5);
  problem.one_team = true;
  std::set<int> teams;
  for (int width : plan_shortest_path(problem).widths) {
    if (width > 1) teams.insert(width);
  }
  EXPECT_EQ(teams.size(), 1u);
  EXPECT_EQ(plan_shortest_path(problem).widths.back(), 1);
}

TEST(WidthPlanner, KeepsDefaultWidthWhenGainIsWithinNoise) {
  std::vector<PlannedOp> ops = {planned_op({9, 4.6, 4.8, 5})};
  for (WidthEstimate& one : ops[0].widths) one.error_ns = 0.1 * one.ns;
  ops[0].best_width = 0;
  ops.push_back(planned_op({40, 20, 14, 10}));
  const WidthPlan plan = plan_shortest_path(problem_of(ops, 0));
  EXPECT_EQ(plan.widths, (std::vector<int>{4, 4}));
  EXPECT_EQ(plan.rules[0], Rule::kDefaultWidth);
}

TEST(WidthPlanner, StrategyTwoUsesWidthOfSlowestInstance) {
  PlannerProblem problem =
      problem_of({planned_op({9, 8, 7, 8}, "conv"), planned_op({1, 2, 3, 4}, "conv"),
                  planned_op({2, 1, 2, 3}, "mm")},
                 0);
  EXPECT_EQ(plan_one_per_name(problem).widths, (std::vector<int>{3, 3, 2}));
  EXPECT_EQ(plan_widths(problem, Strategy::kTwo).widths, (std::vector<int>{3, 3, 2}));
}

TEST(WidthPlanner, KeepsExcludedOpsAtDefaultWidth) {
  std::vector<PlannedOp> ops = varied();
  ops[1].leave = true;
  for (Strategy strategy : {Strategy::kAuto, Strategy::kOne, Strategy::kTwo, Strategy::kUniform}) {
    const WidthPlan plan = plan_widths(problem_of(ops, 0.01), strategy);
    EXPECT_EQ(plan.widths[1], 4);
    EXPECT_EQ(plan.rules[1], Rule::kLeftAlone);
  }
}

TEST(WidthPlanner, NeverExceedsDefaultWidth) {
  PlannerProblem problem = problem_of(varied(), 0);
  problem.default_width = 2;
  for (PlannedOp& op : problem.ops) op.best_width = op.best_width > 2 ? 0 : op.best_width;
  for (Strategy strategy : {Strategy::kAuto, Strategy::kOne, Strategy::kTwo, Strategy::kUniform}) {
    for (int width : plan_widths(problem, strategy).widths) EXPECT_LE(width, 2);
  }
}

TEST(WidthPlanner, KeepsUnmeasuredOpAtDefaultWidth) {
  PlannerProblem problem = problem_of({planned_op({9, 4, 5, 8}), PlannedOp{}}, 0);
  EXPECT_EQ(plan_shortest_path(problem).widths[0], 2);
  EXPECT_EQ(plan_shortest_path(problem).widths[1], 4);
}

TEST(WidthPlanner, CountsChangesCyclically) {
  const PlannerProblem problem =
      problem_of({planned_op({9, 2, 9, 9}), planned_op({9, 9, 9, 2})}, 0.5);
  const WidthPlan plan = evaluate(problem, {2, 4}, Rule::kPlanned);
  EXPECT_EQ(plan.changes, 2);
  EXPECT_DOUBLE_EQ(plan.switching_ns, 1 * kMs);
  EXPECT_DOUBLE_EQ(plan.run_ns, 4 * kMs);
}

// Against every assignment of small random problems.
TEST(WidthPlanner, IsWithinThreePercentOfBruteForce) {
  std::mt19937_64 random(11);
  std::uniform_real_distribution<double> uniform(1, 10);
  for (int round = 0; round < 60; ++round) {
    std::vector<PlannedOp> ops;
    for (int i = 0; i < 6; ++i) {
      ops.push_back(
          planned_op({uniform(random), uniform(random), uniform(random), uniform(random)}));
      for (WidthEstimate& one : ops.back().widths) one.error_ns = 0;
    }
    const PlannerProblem problem = problem_of(ops, uniform(random) / 4);
    double best = 1e18;
    for (int code = 0; code < 4096; ++code) {
      std::vector<int> widths;
      for (int i = 0; i < 6; ++i) widths.push_back(1 + (code >> (2 * i)) % 4);
      best = std::min(best, evaluate(problem, widths, Rule::kPlanned).total_ns());
    }
    EXPECT_LE(plan_shortest_path(problem).total_ns(), 1.03 * best) << "round " << round;
  }
}

TEST(WidthPlanner, IsNotWorseThanUniformForFiveThousandOps) {
  std::mt19937_64 random(12);
  std::uniform_real_distribution<double> uniform(1, 10);
  std::vector<PlannedOp> ops;
  for (int i = 0; i < 500; ++i) {
    PlannedOp op;
    for (int width = 1; width <= 64; ++width) {
      op.widths.push_back({width, uniform(random) * kMs, 0.01 * kMs});
    }
    ops.push_back(op);
  }
  PlannerProblem problem = problem_of(ops, 0.5);
  problem.default_width = 64;
  problem.order.clear();
  for (int i = 0; i < 5000; ++i) problem.order.push_back(static_cast<int>(random() % 500));
  const WidthPlan plan = plan_shortest_path(problem);
  EXPECT_LE(plan.total_ns(), plan_own(problem).total_ns());
  EXPECT_LE(plan.total_ns(), plan_uniform(problem).total_ns());
}

}  // namespace
}  // namespace optile::tuner
