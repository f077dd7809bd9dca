#include "tuner/search/trial_budget.h"

#include <gtest/gtest.h>

namespace optile::tuner {
namespace {

using namespace std::chrono_literals;

constexpr int kMost = 16;

TEST(TrialBudget, StartsWithFreeAmount) {
  const TrialBudget budget;
  EXPECT_DOUBLE_EQ(budget.credit().count(), 0.1);
}

TEST(TrialBudget, GrowsWithTimeThatProgramRan) {
  TrialBudget budget;
  for (int i = 0; i < 30; ++i) budget.on_step(1s);
  EXPECT_NEAR(budget.credit().count(), 1.0, 1e-9);
}

TEST(TrialBudget, PaysWhatTrialTookBeyondOwnStep) {
  TrialBudget budget;
  budget.on_trial(300ms, 100ms);
  EXPECT_NEAR(budget.credit().count(), -0.1, 1e-9);
  budget.on_trial(50ms, 100ms);
  EXPECT_NEAR(budget.credit().count(), -0.05, 1e-9);
  EXPECT_NEAR(budget.lost().count(), 0.15, 1e-9);
}

TEST(TrialBudget, StepsToEarnCoverLoss) {
  TrialBudget budget;
  budget.on_trial(300ms, 100ms);
  EXPECT_EQ(budget.steps_to_earn(50ms, 100ms, kMost), kMost) << "at most";
  const int steps = budget.steps_to_earn(50ms, 100ms, 1000);
  EXPECT_EQ(steps, 50);
  for (int i = 0; i < steps; ++i) budget.on_step(100ms);
  EXPECT_GE(budget.credit().count(), 0.05 - 1e-9);
  EXPECT_EQ(budget.steps_to_earn(10ms, 100ms, kMost), 1) << "affordable, and at least one";
}

TEST(TrialBudget, EarnsFewStepsBeforeOwnStepIsKnown) {
  const TrialBudget budget;
  const int steps = budget.steps_to_earn(10s, 0s, kMost);
  EXPECT_GT(steps, 1);
  EXPECT_LT(steps, kMost);
}

TEST(TrialBudget, LossOfFormerBoundsStaysLost) {
  TrialBudget budget;
  budget.on_trial(1s, 100ms);
  budget.on_bounds_changed();
  EXPECT_EQ(budget.lost().count(), 0);
  EXPECT_NEAR(budget.credit().count(), -0.8, 1e-9);
}

}  // namespace
}  // namespace optile::tuner
