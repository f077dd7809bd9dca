// The guard alone: when it asks for controls, what they cost, and when a plan has lost.
#include "tuner/statistics/regression_detector.h"

#include <gtest/gtest.h>

namespace optile::tuner {
namespace {

// Steps of a program whose plan and default widths take that long, until the guard has decided or
// `most` plan steps have passed.
struct Drive {
  RegressionDetector guard;
  double plan = 1.0;
  double own = 2.0;
  int plan_steps = 0;
  double all_seconds = 0;

  // A guard of a plan that is to take `predicted` where default widths took `before`; 0: unknown.
  static Drive of_plan(double predicted, double before, double plan, double own) {
    Drive drive{{}, plan, own};
    drive.guard.begin(predicted, before, 1);
    return drive;
  }

  void run(int most) {
    for (int i = 0; i < most && !guard.loss().has_value(); ++i) {
      guard.on_plan_step(plan);
      all_seconds += plan;
      ++plan_steps;
      const std::vector<bool> page = guard.page();
      for (std::size_t column = 0; column < page.size(); ++column) {
        const double step = page[column] ? own : plan;
        guard.on_page_step(static_cast<int>(column), step);
        all_seconds += step;
      }
      if (!page.empty()) guard.page_ended();
    }
  }
};

TEST(RegressionDetector, LimitsControlTimeAtAnySpeedup) {
  for (const double own : {1.02, 2.0, 20.0}) {
    Drive drive = Drive::of_plan(1.0, own, 1.0, own);
    drive.run(20000);
    EXPECT_FALSE(drive.guard.loss().has_value());
    EXPECT_GT(drive.guard.cost().controls, 0u) << own;
    EXPECT_LE(drive.guard.cost().seconds, kControlShare * drive.all_seconds + own) << own;
  }
}

TEST(RegressionDetector, RunsNoControlInShortRunOfGoodPlan) {
  Drive drive = Drive::of_plan(1.0, 2.0, 1.0, 2.0);
  drive.run(300);
  EXPECT_EQ(drive.guard.cost().controls, 0u);
}

TEST(RegressionDetector, ComparesUnknownPlanAtOnce) {
  Drive drive = Drive::of_plan(0, 0, 1.0, 1.5);
  drive.run(4);
  EXPECT_EQ(drive.guard.cost().controls, 2u);
  EXPECT_TRUE(drive.guard.verified());
  EXPECT_FALSE(drive.guard.loss().has_value());
}

TEST(RegressionDetector, RejectsPlanFarFromPredictionWithinThreeSteps) {
  Drive drive = Drive::of_plan(1.0, 1.1, 4.0, 1.1);
  drive.run(50);
  EXPECT_TRUE(drive.guard.loss().has_value());
  EXPECT_LE(drive.plan_steps, 3);
  EXPECT_NEAR(drive.guard.loss()->seconds, 2.9, 1e-9);
  EXPECT_NE(drive.guard.loss()->reason.find("slower than the program's default widths"),
            std::string::npos);
}

// Everything is slower, the plan as much as the program's default widths: the plan stays.
// A busy machine with a quiet moment while the first control ran.
TEST(RegressionDetector, KeepsPlanWhenControlRanInQuietMoment) {
  RegressionDetector guard;
  guard.begin(1.0, 1.2, 1);
  for (int i = 0; i < 3; ++i) guard.on_plan_step(2.5);
  ASSERT_EQ(guard.page().size(), 3u);
  guard.on_page_step(0, 1.0);
  guard.on_page_step(1, 1.0);
  guard.on_page_step(2, 2.6);
  guard.page_ended();
  EXPECT_FALSE(guard.loss().has_value());
}

TEST(RegressionDetector, KeepsPlanWhenMachineSlowsBothAlike) {
  Drive drive = Drive::of_plan(1.0, 1.2, 3.0, 3.6);
  drive.run(50);
  EXPECT_FALSE(drive.guard.loss().has_value());
  EXPECT_TRUE(drive.guard.verified());
}

TEST(RegressionDetector, RejectsPlanWithSmallLossByComparison) {
  Drive drive = Drive::of_plan(0, 0, 1.08, 1.0);
  drive.run(50);
  EXPECT_TRUE(drive.guard.loss().has_value());
}

TEST(RegressionDetector, RejectsPlanAfterLastingSlowdown) {
  Drive drive = Drive::of_plan(1.0, 1.5, 1.0, 1.5);
  drive.run(100);
  ASSERT_EQ(drive.guard.cost().controls, 0u);
  drive.plan = 2.0;  // a neighbour came: now the program's default widths are better
  drive.run(40);
  EXPECT_TRUE(drive.guard.loss().has_value());
  EXPECT_GT(drive.guard.level(), 1.9);
}

TEST(RegressionDetector, IgnoresSingleSlowSteps) {
  RegressionDetector guard;
  guard.begin(1.0, 1.5, 1);
  for (int i = 0; i < 200; ++i) {
    guard.on_plan_step(i % 9 == 8 ? 5.0 : 1.0);
    EXPECT_TRUE(guard.page().empty()) << i;
  }
  EXPECT_EQ(guard.level(), 1);
}

TEST(RegressionDetector, RunsControlsWhenSurroundingsChange) {
  Drive drive = Drive::of_plan(1.0, 1.5, 1.0, 1.5);
  drive.run(20);
  drive.guard.on_surroundings_changed();
  drive.run(1);
  EXPECT_EQ(drive.guard.cost().controls, 2u);
}

TEST(RegressionDetector, WatchTracksLevelWithoutControls) {
  Drive drive{{}, 1.0, 1.0};
  drive.guard.watch();
  drive.run(100);
  drive.plan = 1.4;
  drive.run(100);
  EXPECT_EQ(drive.guard.cost().controls, 0u);
  EXPECT_NEAR(drive.guard.level(), 1.4, 0.01);
}

TEST(RegressionDetector, RepeatsPageWhoseStepsWereLost) {
  RegressionDetector guard;
  guard.begin(0, 0, 1);
  guard.on_plan_step(1.0);
  guard.on_plan_step(1.0);
  ASSERT_EQ(guard.page().size(), 3u);
  guard.page_ended();
  EXPECT_EQ(guard.page().size(), 3u);
}

}  // namespace
}  // namespace optile::tuner
