#include "tuner/plan/step_curve.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace optile::tuner {
namespace {

CurveOp curve_op(int per_step, std::vector<WidthEstimate> known) {
  return {per_step, std::move(known), {}};
}

TEST(StepCurve, SumsOpsAtTheirFastestWidths) {
  const std::vector<double> seconds =
      ops_seconds_by_cores({curve_op(2, {{1, 8e9, 0}, {2, 4e9, 0}, {4, 3e9, 0}}),
                            curve_op(1, {{1, 1e9, 0}, {2, 5e9, 0}})},
                           4);
  ASSERT_EQ(seconds.size(), 4u);
  EXPECT_DOUBLE_EQ(seconds[0], 17);
  EXPECT_DOUBLE_EQ(seconds[1], 9);
  EXPECT_DOUBLE_EQ(seconds[3], 7);
}

TEST(StepCurve, InterpolatesBetweenWidthsByScalingLaw) {
  const auto law = [](int width) { return (2 + 12.0 / width) * 1e9; };
  const std::vector<double> seconds =
      ops_seconds_by_cores({curve_op(1, {{1, law(1), 0}, {3, law(3), 0}, {12, law(12), 0}})}, 16);
  for (int n = 1; n <= 16; ++n) {
    EXPECT_NEAR(seconds[static_cast<std::size_t>(n) - 1], law(n) * 1e-9, 1e-12) << n;
  }
}

TEST(StepCurve, IgnoresWidthSlowerThanNarrowerOne) {
  const std::vector<double> seconds =
      ops_seconds_by_cores({curve_op(1, {{1, 4e9, 0}, {3, 7e9, 0}, {6, 1e9, 0}})}, 6);
  EXPECT_DOUBLE_EQ(seconds[1], 4);
  EXPECT_DOUBLE_EQ(seconds[2], 4);
  EXPECT_DOUBLE_EQ(seconds[3], 2.5) << "between what three are worth and six";
  EXPECT_DOUBLE_EQ(seconds[5], 1);
}

TEST(StepCurve, ExtrapolatesBelowNarrowestWidthByScalingLaw) {
  const std::vector<double> seconds =
      ops_seconds_by_cores({curve_op(1, {{2, 6e9, 0}, {4, 4e9, 0}})}, 4);
  EXPECT_DOUBLE_EQ(seconds[0], 10) << "2 serial, 8 parallel";
  const std::vector<double> rises =
      ops_seconds_by_cores({curve_op(1, {{2, 6e9, 0}, {4, 8e9, 0}})}, 4);
  EXPECT_DOUBLE_EQ(rises[0], 12) << "the worst there can be";
}

TEST(StepCurve, AssumesNineTenthsParallelFromOneWidth) {
  const std::vector<double> seconds = ops_seconds_by_cores({curve_op(1, {{4, 1e9, 0}})}, 8);
  EXPECT_DOUBLE_EQ(seconds[0], 3.7);
  EXPECT_DOUBLE_EQ(seconds[3], 1);
  EXPECT_DOUBLE_EQ(seconds[7], 0.55);
}

// An op that hardly scales is seen to by the one execution that ends the search of a width.
TEST(StepCurve, UsesNarrowFirstRunOnlyIfFasterThanScalingLaw) {
  CurveOp op = curve_op(1, {{4, 1e9, 0}});
  op.touched = {{1, 2e9, 0}, {2, 9e9, 0}};
  const std::vector<double> seconds = ops_seconds_by_cores({op}, 4);
  EXPECT_DOUBLE_EQ(seconds[0], 2);
  EXPECT_NEAR(seconds[1], 4.0 / 3, 1e-9) << "the law, since that execution was slower for a cause";
  EXPECT_DOUBLE_EQ(seconds[3], 1);
  op.touched = {{2, 1e6, 0}};
  EXPECT_DOUBLE_EQ(ops_seconds_by_cores({op}, 4)[1], 1) << "one execution promises no gain";
  op.touched = {{1, 5e9, 0}, {8, 1e6, 0}};
  EXPECT_DOUBLE_EQ(ops_seconds_by_cores({op}, 8)[0], 3.7);
  EXPECT_DOUBLE_EQ(ops_seconds_by_cores({op}, 8)[7], 0.55) << "of a wider one nothing is believed";
}

TEST(StepCurve, ExtrapolatesBeyondWidestWidthByScalingLaw) {
  const std::vector<double> seconds =
      ops_seconds_by_cores({curve_op(1, {{1, 10e9, 0}, {2, 6e9, 0}})}, 8);
  EXPECT_DOUBLE_EQ(seconds[3], 4) << "2 serial, 8 parallel";
  EXPECT_DOUBLE_EQ(seconds[7], 3);
  const std::vector<double> flat =
      ops_seconds_by_cores({curve_op(1, {{1, 1e9, 0}, {2, 3e9, 0}})}, 8);
  EXPECT_DOUBLE_EQ(flat[7], 1);
  const std::vector<double> ideal =
      ops_seconds_by_cores({curve_op(1, {{1, 9e9, 0}, {2, 3e9, 0}})}, 4);
  EXPECT_DOUBLE_EQ(ideal[3], 1.5) << "no faster than twice the cores allow";
}

TEST(StepCurve, NeverGetsSlowerWithMoreCores) {
  const std::vector<double> seconds = ops_seconds_by_cores(
      {curve_op(3, {{1, 4e9, 0}, {3, 7e9, 0}, {5, 2e9, 0}}), curve_op(1, {{2, 5e9, 0}}), CurveOp{}},
      16);
  for (std::size_t i = 1; i < seconds.size(); ++i) EXPECT_LE(seconds[i], seconds[i - 1]);
}

// Against the sum op by op, number of cores by number of cores.
TEST(StepCurve, EqualsSumOfSingleOpCurves) {
  std::vector<CurveOp> ops;
  std::mt19937_64 random(5);
  for (int i = 0; i < 60; ++i) {
    CurveOp op;
    op.per_step = 1 + static_cast<int>(random() % 3);
    for (int width = 1 + static_cast<int>(random() % 3); width < 70;
         width += 1 + static_cast<int>(random() % 20)) {
      op.known.push_back({width, 1e6 * (1 + static_cast<double>(random() % 100)), 0});
    }
    ops.push_back(op);
  }
  const std::vector<double> together = ops_seconds_by_cores(ops, 96);
  std::vector<double> sums(96, 0);
  for (const CurveOp& op : ops) {
    const std::vector<double> alone = ops_seconds_by_cores({op}, 96);
    double before = 1e9;
    for (std::size_t i = 0; i < alone.size(); ++i) {
      EXPECT_LE(alone[i], before * (1 + 1e-9)) << "more cores are never worse";
      before = alone[i];
      sums[i] += alone[i];
    }
  }
  for (std::size_t i = 0; i < sums.size(); ++i) EXPECT_NEAR(together[i], sums[i], 1e-9 * sums[i]);
}

}  // namespace
}  // namespace optile::tuner
