#include "placement/budget.h"

#include <gtest/gtest.h>

namespace optile::placement {
namespace {

using std::chrono::seconds;

TEST(Budget, IsSpentAfterItsEvaluations) {
  Budget budget({.evaluations = 3});
  for (int i = 0; i < 3; ++i) {
    EXPECT_FALSE(budget.spent());
    budget.count();
  }
  EXPECT_TRUE(budget.spent());
  EXPECT_EQ(budget.evaluations(), 3U);
  EXPECT_EQ(budget.evaluations_left(), 0U);
}

TEST(Budget, IsSpentAfterItsTime) {
  Budget::Time now{};
  Budget budget({.seconds = 10}, [&] { return now; });
  now += seconds(9);
  EXPECT_FALSE(budget.spent_now());
  EXPECT_DOUBLE_EQ(budget.seconds_left(), 1);
  now += seconds(2);
  EXPECT_TRUE(budget.spent_now());
  EXPECT_TRUE(budget.spent());
}

TEST(Budget, ChecksClockWithin64Calls) {
  Budget::Time now{};
  Budget budget({.seconds = 10}, [&] { return now; });
  now += seconds(11);
  int calls = 1;
  while (!budget.spent()) ++calls;
  EXPECT_LE(calls, 64);
}

TEST(Budget, IsSpentWhenCancelled) {
  std::atomic<bool> cancelled = false;
  Budget budget({.cancelled = &cancelled});
  EXPECT_FALSE(budget.spent());
  cancelled = true;
  EXPECT_TRUE(budget.spent());
}

TEST(Budget, PartGetsFractionOfRemainder) {
  Budget::Time now{};
  Budget budget({.seconds = 10, .evaluations = 100}, [&] { return now; });
  budget.count(20);
  now += seconds(2);
  Budget part = budget.part(0.5);
  EXPECT_EQ(part.evaluations_left(), 40U);
  EXPECT_DOUBLE_EQ(part.seconds_left(), 4);
  part.count(7);
  budget.absorb(part);
  EXPECT_EQ(budget.evaluations(), 27U);
}

}  // namespace
}  // namespace optile::placement
