#include "tuner/step_curve.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace optile::tuner {
namespace {

CurveOp curve_op(int per_step, std::vector<WidthEstimate> known) {
  return {per_step, std::move(known)};
}

TEST(StepCurve, EveryOpAtItsFastestWidth) {
  const std::vector<double> seconds =
      ops_seconds_by_cores({curve_op(2, {{1, 8e9, 0}, {2, 4e9, 0}, {4, 3e9, 0}}),
                            curve_op(1, {{1, 1e9, 0}, {2, 5e9, 0}})},
                           4);
  ASSERT_EQ(seconds.size(), 4u);
  EXPECT_DOUBLE_EQ(seconds[0], 17);
  EXPECT_DOUBLE_EQ(seconds[1], 9);
  EXPECT_DOUBLE_EQ(seconds[2], 9) << "what lies between is not promised";
  EXPECT_DOUBLE_EQ(seconds[3], 7);
}

TEST(StepCurve, BelowTheNarrowestItScalesIdeally) {
  EXPECT_DOUBLE_EQ(ops_seconds_by_cores({curve_op(1, {{4, 1e9, 0}})}, 4)[0], 4);
}

TEST(StepCurve, BeyondTheWidestTheLawGoesOn) {
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

TEST(StepCurve, MoreCoresAreNeverWorse) {
  const std::vector<double> seconds = ops_seconds_by_cores(
      {curve_op(3, {{1, 4e9, 0}, {3, 7e9, 0}, {5, 2e9, 0}}), curve_op(1, {{2, 5e9, 0}}), CurveOp{}},
      16);
  for (std::size_t i = 1; i < seconds.size(); ++i) EXPECT_LE(seconds[i], seconds[i - 1]);
}

TEST(StepCurve, IsMadeOfFewWidthsOnManyCores) {
  EXPECT_EQ(curve_widths(4, 4), (std::vector<int>{1, 2, 3, 4}));
  EXPECT_EQ(curve_widths(0, 4), std::vector<int>{});
  const std::vector<int> many = curve_widths(384, 100);
  EXPECT_LT(many.size(), 40u);
  EXPECT_TRUE(std::binary_search(many.begin(), many.end(), 100));
  EXPECT_EQ(many.back(), 384);
  for (std::size_t i = 1; i < many.size(); ++i) {
    EXPECT_LE(many[i] - many[i - 1], std::max(1, many[i] / 4)) << many[i];
  }
}

// Against the sum op by op, number of cores by number of cores.
TEST(StepCurve, TheSumOfManyOpsIsTheirSums) {
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
