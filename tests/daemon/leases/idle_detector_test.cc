// Who waits, by the ops it begins and the processor time it uses.
#include "daemon/leases/idle_detector.h"

#include <gtest/gtest.h>

namespace optile::daemon {
namespace {

using std::chrono::milliseconds;

class IdleDetectorTest : public testing::Test {
 protected:
  // Looks as often as it wants; `cores`: that the process keeps busy. Returns the changes.
  int pass(milliseconds time, bool begins_ops, double cores) {
    int changes = 0;
    for (const milliseconds end = now_ + time; now_ < end;) {
      const milliseconds step =
          watch_.waiting() ? IdleDetector::kEveryWaiting : IdleDetector::kEvery;
      now_ += step;
      used_ms_ += cores * static_cast<double>(step.count());
      progress_ += begins_ops ? 1 : 0;
      const auto busy = [this]() -> std::optional<milliseconds> {
        ++asked_;
        if (gone_) return std::nullopt;
        return milliseconds(static_cast<int64_t>(used_ms_ / 10) * 10);  // as the kernel counts
      };
      changes += watch_.look(now_, progress_, busy) ? 1 : 0;
    }
    return changes;
  }

  IdleDetector watch_;
  milliseconds now_{1000};
  double used_ms_ = 0;
  uint64_t progress_ = 0;
  int asked_ = 0;
  bool gone_ = false;
};

TEST_F(IdleDetectorTest, SkipsBusyTimeReadsWhileOpsBegin) {
  EXPECT_EQ(pass(milliseconds(1000), true, 1), 0);
  EXPECT_FALSE(watch_.waiting());
  EXPECT_EQ(asked_, 0);
}

// Somebody else waits, so that everybody is looked at twice as often.
TEST_F(IdleDetectorTest, LimitsBusyTimeReadsAtFasterLooks) {
  const auto busy = [this]() -> std::optional<milliseconds> {
    ++asked_;
    return now_;
  };
  for (int i = 0; i < 100; ++i) {
    now_ += IdleDetector::kEveryWaiting;
    EXPECT_FALSE(watch_.look(now_, 1, busy));
  }
  EXPECT_LE(asked_, 50);
  EXPECT_GE(asked_, 45);
}

TEST_F(IdleDetectorTest, LongBusyOpIsNotWaiting) {
  EXPECT_EQ(pass(milliseconds(5000), false, 1), 0);
  EXPECT_FALSE(watch_.waiting());
}

TEST_F(IdleDetectorTest, QuietClientIsSoonWaiting) {
  pass(milliseconds(500), true, 4);
  EXPECT_EQ(pass(milliseconds(120), false, 0), 1);
  EXPECT_TRUE(watch_.waiting());
  // A thread that looks after something now and then.
  EXPECT_EQ(pass(milliseconds(3000), false, 0.05), 0);
  EXPECT_TRUE(watch_.waiting());
}

TEST_F(IdleDetectorTest, OpOrProcessorTimeEndsWaiting) {
  pass(milliseconds(500), true, 4);
  pass(milliseconds(600), false, 0);
  ASSERT_TRUE(watch_.waiting());
  EXPECT_EQ(pass(IdleDetector::kEveryWaiting, true, 1), 1);
  EXPECT_FALSE(watch_.waiting());
  pass(milliseconds(600), false, 0);
  ASSERT_TRUE(watch_.waiting());
  EXPECT_EQ(pass(milliseconds(100), false, 4), 1) << "in no op that is seen";
  EXPECT_FALSE(watch_.waiting());
}

TEST_F(IdleDetectorTest, IgnoresMostRepeatedShortPauses) {
  int changes = 0;
  for (int i = 0; i < 100; ++i) {
    changes += pass(milliseconds(50), true, 4);
    changes += pass(milliseconds(150), false, 0);
  }
  EXPECT_LE(changes, 12) << "it would be taken and given back all the time";
  // Long ones are.
  for (int i = 0; i < 3; ++i) {
    pass(milliseconds(50), true, 4);
    pass(milliseconds(20000), false, 0);
    EXPECT_TRUE(watch_.waiting());
  }
}

TEST_F(IdleDetectorTest, DetectsLongPausesAfterManyShortOnes) {
  for (int i = 0; i < 100; ++i) {
    // A little longer each time than the patience that the ones before have led to.
    for (const int pause : {100, 150, 200, 260, 290}) {
      pass(milliseconds(50), true, 4);
      pass(milliseconds(pause), false, 0);
    }
  }
  // Two seconds of work, two seconds of waiting: the first may pass, the others are lent.
  pass(milliseconds(2000), true, 4);
  pass(milliseconds(2000), false, 0);
  for (int i = 0; i < 3; ++i) {
    pass(milliseconds(2000), true, 4);
    pass(milliseconds(200), false, 0);
    EXPECT_TRUE(watch_.waiting());
    pass(milliseconds(1800), false, 0);
  }
}

TEST_F(IdleDetectorTest, UnknownBusyTimeCountsAsWorking) {
  gone_ = true;
  EXPECT_EQ(pass(milliseconds(1000), false, 0), 0);
}

}  // namespace
}  // namespace optile::daemon
