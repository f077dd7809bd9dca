#include "tuner/step_curve.h"

#include <gtest/gtest.h>

namespace optile::tuner {
namespace {

CurveOp op_of(int per_step, std::vector<WidthEstimate> known) {
  return {per_step, std::move(known)};
}

TEST(StepCurve, EveryOpAtItsFastestWidth) {
  const std::vector<double> seconds = ops_seconds_by_cores(
      {op_of(2, {{1, 8e9, 0}, {2, 4e9, 0}, {4, 3e9, 0}}), op_of(1, {{1, 1e9, 0}, {2, 5e9, 0}})}, 4);
  ASSERT_EQ(seconds.size(), 4u);
  EXPECT_DOUBLE_EQ(seconds[0], 17);
  EXPECT_DOUBLE_EQ(seconds[1], 9);
  EXPECT_DOUBLE_EQ(seconds[2], 9) << "what lies between is not promised";
  EXPECT_DOUBLE_EQ(seconds[3], 7);
}

TEST(StepCurve, BelowTheNarrowestItScalesIdeally) {
  EXPECT_DOUBLE_EQ(ops_seconds_by_cores({op_of(1, {{4, 1e9, 0}})}, 4)[0], 4);
}

TEST(StepCurve, BeyondTheWidestTheLawGoesOn) {
  const std::vector<double> seconds =
      ops_seconds_by_cores({op_of(1, {{1, 10e9, 0}, {2, 6e9, 0}})}, 8);
  EXPECT_DOUBLE_EQ(seconds[3], 4) << "2 serial, 8 parallel";
  EXPECT_DOUBLE_EQ(seconds[7], 3);
  const std::vector<double> flat = ops_seconds_by_cores({op_of(1, {{1, 1e9, 0}, {2, 3e9, 0}})}, 8);
  EXPECT_DOUBLE_EQ(flat[7], 1);
  const std::vector<double> ideal = ops_seconds_by_cores({op_of(1, {{1, 9e9, 0}, {2, 3e9, 0}})}, 4);
  EXPECT_DOUBLE_EQ(ideal[3], 1.5) << "no faster than twice the cores allow";
}

TEST(StepCurve, MoreCoresAreNeverWorse) {
  const std::vector<double> seconds = ops_seconds_by_cores(
      {op_of(3, {{1, 4e9, 0}, {3, 7e9, 0}, {5, 2e9, 0}}), op_of(1, {{2, 5e9, 0}}), CurveOp{}}, 16);
  for (std::size_t i = 1; i < seconds.size(); ++i) EXPECT_LE(seconds[i], seconds[i - 1]);
}

}  // namespace
}  // namespace optile::tuner
