#include "daemon/leases/rebalance_backoff.h"

#include <gtest/gtest.h>

namespace optile::daemon {
namespace {

using namespace std::chrono_literals;
using Milliseconds = RebalanceBackoff::Milliseconds;
using Turn = RebalanceBackoff::Turn;

constexpr Milliseconds kStart{1000};

// As often as it may be, by measurements that would always divide cores otherwise.
int moves_within(RebalanceBackoff& pace, Milliseconds time) {
  int moves = 0;
  for (Milliseconds now = kStart; now < kStart + time; now += 1s) {
    if (pace.turn(now, false) != Turn::kDivides) continue;
    pace.moved(now);
    ++moves;
  }
  return moves;
}

TEST(RebalanceBackoff, DoublesIntervalWhileMeasurementsSwing) {
  RebalanceBackoff pace;
  EXPECT_EQ(moves_within(pace, 60s), 5) << "after 0, 2, 6, 14, 30 seconds";
  RebalanceBackoff longer;
  EXPECT_EQ(moves_within(longer, 3600s), 61);
}

TEST(RebalanceBackoff, NewsDivideAtOnceAndResetInterval) {
  RebalanceBackoff pace;
  moves_within(pace, 60s);
  const Milliseconds now = kStart + 60s;
  EXPECT_EQ(pace.turn(now, false), Turn::kNothing);
  pace.news();
  EXPECT_EQ(pace.turn(now, true), Turn::kDivides) << "whoever searches";
  pace.moved(now);
  EXPECT_EQ(pace.turn(now + 1s, false), Turn::kDivides);
}

TEST(RebalanceBackoff, LoansAreMadeAtOnceWithoutDividing) {
  RebalanceBackoff pace;
  pace.news();
  pace.turn(kStart, false);
  pace.moved(kStart);
  pace.loans();
  EXPECT_EQ(pace.turn(kStart + 1s, true), Turn::kLoans);
  EXPECT_EQ(pace.turn(kStart + 1s, true), Turn::kNothing);
}

TEST(RebalanceBackoff, SearchDelaysDivisionForUpToOneMinute) {
  RebalanceBackoff pace;
  EXPECT_EQ(pace.turn(kStart, true), Turn::kDivides) << "nothing was granted yet";
  pace.moved(kStart);
  EXPECT_EQ(pace.turn(kStart + 30s, true), Turn::kNothing);
  EXPECT_EQ(pace.turn(kStart + 60s, true), Turn::kDivides);
}

}  // namespace
}  // namespace optile::daemon
