#include "daemon/team_pace.h"

#include <gtest/gtest.h>

namespace optile::daemon {
namespace {

using std::chrono::milliseconds;

// `seconds` looks, one a second, at `each` regions a second.
void run(TeamPace& pace, int& second, uint64_t& regions, int cores, uint64_t each, int seconds) {
  for (int i = 0; i < seconds; ++i) {
    pace.look(milliseconds(1000 * ++second), regions += each, cores);
  }
}

TEST(TeamPaceTest, AFewLooksMakeAPace) {
  TeamPace pace;
  int second = 0;
  uint64_t regions = 0;
  run(pace, second, regions, 4, 100, 3);
  EXPECT_FALSE(pace.measured(4));
  EXPECT_EQ(pace.predicted(4, 4), (std::vector<double>{4, 2, 2, 1})) << "no more than its shape";
  run(pace, second, regions, 4, 100, 1);
  EXPECT_DOUBLE_EQ(pace.measured(4).value(), 0.01);
  EXPECT_EQ(pace.predicted(4, 4), (std::vector<double>{0.04, 0.02, 0.02, 0.01}));
}

TEST(TeamPaceTest, EachNumberOfCoresHasItsOwn) {
  TeamPace pace;
  int second = 0;
  uint64_t regions = 0;
  run(pace, second, regions, 4, 100, 5);
  run(pace, second, regions, 2, 10, 5);
  EXPECT_DOUBLE_EQ(pace.measured(4).value(), 0.01);
  EXPECT_DOUBLE_EQ(pace.measured(2).value(), 0.1);
  EXPECT_DOUBLE_EQ(pace.predicted(4, 4)[3], 0.05) << "from where it runs now";
}

TEST(TeamPaceTest, WhoTurnsToSomethingElseIsMeasuredAnew) {
  TeamPace pace;
  int second = 0;
  uint64_t regions = 0;
  run(pace, second, regions, 4, 100, 9);
  run(pace, second, regions, 2, 60, 9);
  ASSERT_TRUE(pace.measured(4));
  EXPECT_EQ(pace.turns(), 0u);
  run(pace, second, regions, 2, 50, 9);
  EXPECT_EQ(pace.turns(), 0u) << "not by half";
  run(pace, second, regions, 2, 20, 9);
  EXPECT_EQ(pace.turns(), 1u);
  EXPECT_DOUBLE_EQ(pace.measured(2).value(), 0.05);
  EXPECT_FALSE(pace.measured(4)) << "of what it did before";
}

TEST(TeamPaceTest, LongRegionsThatFallIntoThisLookOrTheNextAreNoTurn) {
  for (int tenths = 1; tenths <= 12; ++tenths) {
    TeamPace pace;
    for (int second = 1; second < 100; ++second) {
      pace.look(milliseconds(1000 * second), static_cast<uint64_t>(second * 10 / tenths), 4);
    }
    EXPECT_EQ(pace.turns(), 0u) << tenths;
  }
}

TEST(TeamPaceTest, AFewSlowLooksAreNoTurn) {
  TeamPace pace;
  int second = 0;
  uint64_t regions = 0;
  for (int i = 0; i < 9; ++i) {
    run(pace, second, regions, 4, 100, 3);
    run(pace, second, regions, 4, 30, 2);
  }
  EXPECT_EQ(pace.turns(), 0u);
}

TEST(TeamPaceTest, WhoTurnsAgainAndAgainIsMeasuredAsOne) {
  TeamPace pace;
  int second = 0;
  uint64_t regions = 0;
  for (int i = 0; i < 20; ++i) run(pace, second, regions, 4, i % 2 == 0 ? 100 : 30, 12);
  EXPECT_EQ(pace.turns(), TeamPace::kMostTurns);
}

TEST(TeamPaceTest, ItIsInSecondsAlsoWhereNothingIsMeasuredYet) {
  TeamPace pace;
  int second = 0;
  uint64_t regions = 0;
  run(pace, second, regions, 4, 100, 5);
  run(pace, second, regions, 2, 10, 2);
  ASSERT_FALSE(pace.measured(2));
  EXPECT_EQ(pace.predicted(4, 4), (std::vector<double>{0.04, 0.02, 0.02, 0.01}));
}

TEST(TeamPaceTest, WhatCannotBeCountedIsNoPace) {
  TeamPace pace;
  int second = 0;
  uint64_t regions = 0;
  run(pace, second, regions, 4, 100, 5);
  run(pace, second, regions, 0, 5000, 9);
  run(pace, second, regions, 4, 100, 5);
  EXPECT_FALSE(pace.measured(0));
  EXPECT_DOUBLE_EQ(pace.measured(4).value(), 0.01);
  EXPECT_DOUBLE_EQ(pace.predicted(4, 4)[3], 0.01);
}

TEST(TeamPaceTest, APauseAndAHurryAreNoPace) {
  TeamPace pace;
  int second = 0;
  uint64_t regions = 0;
  run(pace, second, regions, 4, 100, 6);
  run(pace, second, regions, 4, 0, 20);
  run(pace, second, regions, 4, 5000, 1);
  EXPECT_DOUBLE_EQ(pace.measured(4).value(), 0.01);
}

}  // namespace
}  // namespace optile::daemon
