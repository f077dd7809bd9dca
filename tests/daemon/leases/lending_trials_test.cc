// Whether lent cores pay is measured: some pauses are lent, some are not.
#include "daemon/leases/lending_trials.h"

#include <gtest/gtest.h>

namespace optile::daemon {
namespace {

using std::chrono::milliseconds;
using Workers = std::vector<LendingTrials::Worker>;

constexpr uint64_t kWaiter = 1;
constexpr uint64_t kWorker = 2;

class LendingTrialsTest : public testing::Test {
 protected:
  Workers working(int lent) { return {{kWorker, ops_, own_, lent}}; }

  // One pause of that length; ops begun in a second of it if cores are lent, and if not. Returns
  // whether they were at once.
  bool pause(uint64_t lent_pace, uint64_t held_pace, milliseconds time = milliseconds(1000)) {
    const bool lent = trials_.begin(kWaiter, now_, working(0));
    now_ += time;
    const uint64_t pace = lent ? lent_pace : held_pace;
    ops_ += pace * static_cast<uint64_t>(time.count()) / 1000;
    const int cores = lent && trials_.borrows(kWorker, own_) ? 2 : 0;
    for (const LendingTrials::Verdict& known : trials_.end(kWaiter, now_, working(cores))) {
      verdicts_.push_back(known);
    }
    now_ += milliseconds(1000);
    ops_ += held_pace;
    return lent;
  }

  // One verdict came of all pauses, and it is this one.
  void expect_verdict(double gain, bool borrows) const {
    ASSERT_EQ(verdicts_.size(), 1u);
    EXPECT_EQ(verdicts_[0].client, kWorker);
    EXPECT_NEAR(verdicts_[0].gain, gain, 0.005);
    EXPECT_EQ(verdicts_[0].borrows, borrows);
  }

  bool held_long_enough(milliseconds since) {
    return trials_.held_long_enough(kWaiter, now_ + since, working(0));
  }

  LendingTrials trials_;
  milliseconds now_{5000};
  uint64_t ops_ = 0;
  int own_ = 2;
  std::vector<LendingTrials::Verdict> verdicts_;
};

TEST_F(LendingTrialsTest, KeepsLendingAfterGain) {
  EXPECT_TRUE(pause(130, 100)) << "the first is lent";
  EXPECT_FALSE(pause(130, 100)) << "the second is compared with it";
  for (int i = 0; i < 6; ++i) pause(130, 100);
  EXPECT_TRUE(trials_.borrows(kWorker, own_));
  expect_verdict(1.30, true);
  for (int i = 0; i < 5; ++i) EXPECT_TRUE(pause(130, 100)) << "known now";
}

TEST(LendingVerdict, TextNamesClientGainAndDecision) {
  const LendingTrials::Verdict gain{2, 2, 1.3, true};
  const LendingTrials::Verdict loss{2, 2, 1.02, false};
  EXPECT_EQ(gain.text(), "client 2 gets 1.30 times as much done with lent cores: it borrows");
  EXPECT_EQ(loss.text(),
            "client 2 gets 1.02 times as much done with lent cores: it borrows no more");
}

TEST_F(LendingTrialsTest, StopsLendingWithoutGain) {
  for (int i = 0; i < 8; ++i) {
    EXPECT_TRUE(trials_.borrows(kWorker, own_));
    pause(102, 100);
  }
  EXPECT_FALSE(trials_.borrows(kWorker, own_));
  expect_verdict(1.02, false);
}

TEST_F(LendingTrialsTest, VerdictsAreKeptPerOwnCoreCount) {
  for (int i = 0; i < 8; ++i) pause(90, 100);
  ASSERT_FALSE(trials_.borrows(kWorker, own_));
  own_ = 1;
  pause(90, 100);
  EXPECT_TRUE(trials_.borrows(kWorker, own_));
  own_ = 2;
  EXPECT_FALSE(trials_.borrows(kWorker, own_)) << "nothing is forgotten";
}

TEST_F(LendingTrialsTest, IgnoresPausesInWhichOwnCoresChange) {
  for (int i = 0; i < 12; ++i) {
    own_ = 1;
    const bool lent = trials_.begin(kWaiter, now_, working(0));
    now_ += milliseconds(1000);
    ops_ += 100;
    own_ = 2;
    EXPECT_TRUE(trials_.end(kWaiter, now_, working(lent ? 2 : 0)).empty());
  }
  EXPECT_TRUE(trials_.borrows(kWorker, 2));
}

TEST_F(LendingTrialsTest, RecalledVerdictNeedsNoTrial) {
  trials_.recall(kWorker, 2, false);
  EXPECT_FALSE(trials_.borrows(kWorker, 2));
  for (int i = 0; i < 9; ++i) EXPECT_TRUE(pause(130, 100)) << "nothing is held back";
  EXPECT_TRUE(verdicts_.empty());
}

TEST_F(LendingTrialsTest, IgnoresShortPauses) {
  for (int i = 0; i < 50; ++i) pause(0, 100, milliseconds(200));
  EXPECT_TRUE(trials_.borrows(kWorker, own_));
  EXPECT_TRUE(verdicts_.empty());
}

TEST_F(LendingTrialsTest, LendsEverySecondShortPauseAfterLongOne) {
  pause(130, 100);
  int lent = 0;
  for (int i = 0; i < 10; ++i) lent += pause(130, 100, milliseconds(200)) ? 1 : 0;
  EXPECT_EQ(lent, 5);
}

TEST_F(LendingTrialsTest, ReleasesHeldPauseSoonerAfterManyOps) {
  pause(130, 100);
  ASSERT_FALSE(trials_.begin(kWaiter, now_, working(0)));
  ASSERT_TRUE(trials_.holds_back(kWaiter));
  ops_ += LendingTrials::kManyOps - 1;
  EXPECT_FALSE(held_long_enough(milliseconds(1900))) << "an op more or less is a difference";
  EXPECT_TRUE(held_long_enough(milliseconds(2000)));
  ++ops_;
  EXPECT_FALSE(held_long_enough(milliseconds(900)));
  EXPECT_TRUE(held_long_enough(milliseconds(1000)));
  now_ += milliseconds(1000);
  trials_.release(kWaiter, now_, working(0));
  EXPECT_FALSE(trials_.holds_back(kWaiter)) << "once";
  EXPECT_TRUE(trials_.end(kWaiter, now_ + milliseconds(900), working(2)).empty());
}

TEST_F(LendingTrialsTest, DecidesEarlyOnClearGain) {
  for (int i = 0; i < 3; ++i) pause(118, 100);
  EXPECT_TRUE(verdicts_.empty()) << "one pause without is not enough";
  pause(118, 100);
  expect_verdict(1.18, true);
}

TEST_F(LendingTrialsTest, DecidesEarlyOnClearLoss) {
  for (int i = 0; i < 4; ++i) pause(94, 100);
  expect_verdict(0.94, false);
}

TEST_F(LendingTrialsTest, OverlappingResultsDelayVerdict) {
  pause(105, 100);
  for (int i = 0; i < 6; ++i) pause(130, 100);
  EXPECT_TRUE(verdicts_.empty());
  pause(130, 100);
  expect_verdict(1.30, true);
}

TEST_F(LendingTrialsTest, FewOpsDelayVerdict) {
  pause(19, 10);
  for (int i = 0; i < 6; ++i) pause(60, 40);
  EXPECT_TRUE(verdicts_.empty());
  pause(60, 40);
  expect_verdict(1.50, true);
}

TEST_F(LendingTrialsTest, LaterWorkerGetsBothKindsOfPauses) {
  constexpr uint64_t kLater = 5;
  pause(130, 100);
  int lent = 0;
  for (int i = 0; i < 8; ++i) {
    const auto both = [&](int cores) {
      return Workers{{kWorker, ops_, own_, cores}, {kLater, ops_, own_, cores}};
    };
    const bool lends = trials_.begin(kWaiter, now_, both(0));
    lent += lends ? 1 : 0;
    now_ += milliseconds(1000);
    ops_ += lends ? 130 : 100;
    for (const auto& known : trials_.end(kWaiter, now_, both(lends ? 1 : 0))) {
      verdicts_.push_back(known);
    }
  }
  EXPECT_GE(lent, 4);
  ASSERT_EQ(verdicts_.size(), 2u);
  EXPECT_EQ(verdicts_[0].client, kWorker);
  EXPECT_EQ(verdicts_[1].client, kLater);
  for (const LendingTrials::Verdict& verdict : verdicts_) {
    EXPECT_NEAR(verdict.gain, 1.3, 0.005);
    EXPECT_TRUE(verdict.borrows);
  }
}

TEST_F(LendingTrialsTest, StopsHoldingBackWhereNothingIsLent) {
  int held = 0;
  for (int i = 0; i < 40; ++i) {
    const bool lent = trials_.begin(kWaiter, now_, working(0));
    held += lent ? 0 : 1;
    now_ += milliseconds(1000);
    ops_ += 100;
    EXPECT_TRUE(trials_.end(kWaiter, now_, working(0)).empty());
  }
  EXPECT_EQ(held, LendingTrials::kFruitless - 1);
  EXPECT_FALSE(trials_.measures(kWorker, own_)) << "so it may pause sampling";
  pause(130, 100);
  EXPECT_TRUE(trials_.measures(kWorker, own_)) << "lent something after all";
}

TEST_F(LendingTrialsTest, StopsHoldingBackAfterManyShortPauses) {
  int held = 0;
  for (int i = 0; i < 200; ++i) held += pause(0, 100, milliseconds(200)) ? 0 : 1;
  EXPECT_EQ(held, LendingTrials::kMostHeld);
}

TEST_F(LendingTrialsTest, ComparesNothingWhileSeveralClientsWait) {
  pause(130, 100);
  ASSERT_FALSE(trials_.begin(3, now_, working(0)));
  EXPECT_FALSE(trials_.held_long_enough(3, now_, working(0)));
  EXPECT_TRUE(trials_.begin(kWaiter, now_, working(0)));
  EXPECT_FALSE(trials_.holds_back(kWaiter)) << "it was lent";
  EXPECT_TRUE(trials_.held_long_enough(3, now_, working(0)))
      << "there is nothing to hold it back for";
  EXPECT_TRUE(trials_.release(3, now_, working(0)).empty());
  EXPECT_FALSE(trials_.holds_back(3)) << "once";
}

TEST_F(LendingTrialsTest, EndOfPauseClearsHoldBack) {
  pause(130, 100);
  ASSERT_FALSE(trials_.begin(3, now_, working(0)));
  EXPECT_TRUE(trials_.begin(kWaiter, now_, working(0)));
  trials_.end(3, now_, working(0));
  EXPECT_FALSE(trials_.holds_back(3));
}

TEST_F(LendingTrialsTest, ForgottenClientIsNotWaiting) {
  pause(130, 100);
  trials_.begin(3, now_, working(0));
  trials_.forget(3);
  EXPECT_TRUE(pause(130, 100));
  EXPECT_FALSE(pause(130, 100)) << "the only one that waits, and compared";
}

}  // namespace
}  // namespace optile::daemon
