#include "daemon/client/step_rate.h"

#include <gtest/gtest.h>

namespace optile::daemon {
namespace {

constexpr uint64_t kSecondNs = UINT64_C(1'000'000'000);

TEST(StepRate, UnknownBeforeFirstFullSecond) {
  StepRate rate;
  EXPECT_TRUE(rate.is_due(kSecondNs));
  EXPECT_FALSE(rate.per_second());
  rate.note(kSecondNs, 10);
  EXPECT_FALSE(rate.is_due(kSecondNs + kSecondNs / 4));
  EXPECT_FALSE(rate.per_second());
  rate.note(kSecondNs + kSecondNs / 2, 20);
  EXPECT_FALSE(rate.per_second());
  rate.note(2 * kSecondNs, 30);
  EXPECT_DOUBLE_EQ(*rate.per_second(), 20);
}

// Three steps of 0.1 ms in every 450 ms are not ten thousand steps a second.
TEST(StepRate, AveragesOverPausesBetweenBursts) {
  StepRate rate;
  uint64_t steps = 0;
  for (uint64_t burst = 0; burst < 100; ++burst) {
    rate.note(burst * kSecondNs * 45 / 100, steps += 3);
  }
  EXPECT_NEAR(*rate.per_second(), 3 / 0.45, 0.1);
}

TEST(StepRate, ForgetsStepsBeforeWindow) {
  StepRate rate;
  for (uint64_t second = 0; second <= 30; ++second) {
    rate.note(second * kSecondNs, second < 20 ? 4 * second : 80 + 2 * (second - 20));
    if (second == 15) {
      EXPECT_DOUBLE_EQ(*rate.per_second(), 4);
    }
  }
  EXPECT_DOUBLE_EQ(*rate.per_second(), 2);
}

TEST(StepRate, WidensWindowForLongSteps) {
  StepRate rate;
  for (uint64_t second = 0; second <= 80; ++second) rate.note(second * kSecondNs, second / 8);
  EXPECT_NEAR(*rate.per_second(), 0.125, 0.03);
}

TEST(StepRate, FallsToZeroAfterProgramStops) {
  StepRate rate;
  for (uint64_t second = 0; second <= 300; ++second) {
    rate.note(second * kSecondNs, second < 20 ? 100 * second : 2000);
  }
  EXPECT_DOUBLE_EQ(*rate.per_second(), 0);
}

TEST(StepRate, RestartsWhenStepCountDecreases) {
  StepRate rate;
  rate.note(0, 1000);
  rate.note(kSecondNs, 1);
  EXPECT_FALSE(rate.per_second());
}

}  // namespace
}  // namespace optile::daemon
