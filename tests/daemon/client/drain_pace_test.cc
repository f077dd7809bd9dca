#include "daemon/client/drain_pace.h"

#include <gtest/gtest.h>

namespace optile::daemon {
namespace {

using Want = DrainPace::Want;

int drains_within(DrainPace& pace, Want want, DrainPace::Period time) {
  int drains = 0;
  for (DrainPace::Period now{0}; now < time; now += pace.period()) {
    pace.on_drain(want, 0);
    ++drains;
  }
  return drains;
}

TEST(DrainPace, DrainsOftenWhileProfiling) {
  DrainPace pace;
  pace.on_arrival();
  EXPECT_EQ(pace.period(), DrainPace::kProfiling);
  EXPECT_EQ(drains_within(pace, Want::kProfiling, std::chrono::seconds(1)), 200);
}

TEST(DrainPace, SlowsDownWhileListening) {
  DrainPace pace;
  pace.on_arrival();
  EXPECT_LT(drains_within(pace, Want::kListening, std::chrono::seconds(10)), 230);
  EXPECT_EQ(pace.period(), DrainPace::kListening);
  EXPECT_EQ(drains_within(pace, Want::kListening, std::chrono::seconds(1)), 20);
  pace.on_arrival();
  EXPECT_EQ(pace.period(), DrainPace::kProfiling);
  pace.on_drain(Want::kProfiling, 0);
  EXPECT_EQ(pace.period(), DrainPace::kProfiling);
}

TEST(DrainPace, DrainsFullRingsSooner) {
  DrainPace pace;
  drains_within(pace, Want::kListening, std::chrono::seconds(10));
  pace.on_drain(Want::kListening, 0.3);
  EXPECT_EQ(pace.period(), DrainPace::kListening / 2);
  for (int i = 0; i < 10; ++i) pace.on_drain(Want::kListening, 0.3);
  EXPECT_EQ(pace.period(), DrainPace::kProfiling);
  pace.on_drain(Want::kListening, 0.1);
  EXPECT_EQ(pace.period(), DrainPace::kProfiling) << "as full as it should be";
}

TEST(DrainPace, SlowsToQuietPeriodWhenTuned) {
  DrainPace pace;
  pace.on_drain(Want::kProfiling, 0);
  pace.on_drain(Want::kFigures, 0);
  EXPECT_EQ(pace.period(), DrainPace::kTuned);
  drains_within(pace, Want::kFigures, std::chrono::seconds(30));
  EXPECT_EQ(pace.period(), DrainPace::kQuiet);
}

}  // namespace
}  // namespace optile::daemon
