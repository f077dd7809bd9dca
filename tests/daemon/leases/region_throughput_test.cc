#include "daemon/leases/region_throughput.h"

#include <gtest/gtest.h>

namespace optile::daemon {
namespace {

using std::chrono::milliseconds;

class RegionThroughputTest : public testing::Test {
 protected:
  // `seconds` looks, one a second, at `each` regions a second.
  void run(int cores, uint64_t each, int seconds) {
    for (int i = 0; i < seconds; ++i) {
      pace_.look(milliseconds(1000 * ++second_), regions_ += each, cores);
    }
  }

  RegionThroughput pace_;
  int second_ = 0;
  uint64_t regions_ = 0;
};

TEST_F(RegionThroughputTest, NeedsSeveralLooksToMeasure) {
  run(4, 100, 3);
  EXPECT_FALSE(pace_.measured(4));
  EXPECT_EQ(pace_.predicted(4, 4), (std::vector<double>{4, 2, 2, 1})) << "no more than its shape";
  run(4, 100, 1);
  EXPECT_DOUBLE_EQ(pace_.measured(4).value(), 0.01);
  EXPECT_EQ(pace_.predicted(4, 4), (std::vector<double>{0.04, 0.02, 0.02, 0.01}));
}

TEST_F(RegionThroughputTest, MeasuresEachCoreCountSeparately) {
  run(4, 100, 5);
  run(2, 10, 5);
  EXPECT_DOUBLE_EQ(pace_.measured(4).value(), 0.01);
  EXPECT_DOUBLE_EQ(pace_.measured(2).value(), 0.1);
  EXPECT_DOUBLE_EQ(pace_.predicted(4, 4)[3], 0.05) << "from where it runs now";
}

TEST_F(RegionThroughputTest, LargeRateChangeDropsMeasurements) {
  run(4, 100, 9);
  run(2, 60, 9);
  ASSERT_TRUE(pace_.measured(4));
  EXPECT_EQ(pace_.turns(), 0u);
  run(2, 50, 9);
  EXPECT_EQ(pace_.turns(), 0u) << "not by half";
  run(2, 20, 9);
  EXPECT_EQ(pace_.turns(), 1u);
  EXPECT_DOUBLE_EQ(pace_.measured(2).value(), 0.05);
  EXPECT_FALSE(pace_.measured(4)) << "of what it did before";
}

TEST(RegionThroughput, LongRegionsAreNoPhaseChange) {
  for (int tenths = 1; tenths <= 12; ++tenths) {
    RegionThroughput pace;
    for (int second = 1; second < 100; ++second) {
      pace.look(milliseconds(1000 * second), static_cast<uint64_t>(second * 10 / tenths), 4);
    }
    EXPECT_EQ(pace.turns(), 0u) << tenths;
  }
}

TEST_F(RegionThroughputTest, FewSlowLooksAreNoPhaseChange) {
  for (int i = 0; i < 9; ++i) {
    run(4, 100, 3);
    run(4, 30, 2);
  }
  EXPECT_EQ(pace_.turns(), 0u);
}

TEST_F(RegionThroughputTest, RepeatedPhaseChangesAreLimited) {
  for (int i = 0; i < 20; ++i) run(4, i % 2 == 0 ? 100 : 30, 12);
  EXPECT_EQ(pace_.turns(), RegionThroughput::kMostTurns);
}

TEST_F(RegionThroughputTest, PredictsSecondsFromOtherMeasuredCoreCount) {
  run(4, 100, 5);
  run(2, 10, 2);
  ASSERT_FALSE(pace_.measured(2));
  EXPECT_EQ(pace_.predicted(4, 4), (std::vector<double>{0.04, 0.02, 0.02, 0.01}));
}

TEST_F(RegionThroughputTest, IgnoresLooksWithUnknownCores) {
  run(4, 100, 5);
  run(0, 5000, 9);
  run(4, 100, 5);
  EXPECT_FALSE(pace_.measured(0));
  EXPECT_DOUBLE_EQ(pace_.measured(4).value(), 0.01);
  EXPECT_DOUBLE_EQ(pace_.predicted(4, 4)[3], 0.01);
}

TEST_F(RegionThroughputTest, IgnoresPausesAndShortBursts) {
  run(4, 100, 6);
  run(4, 0, 20);
  run(4, 5000, 1);
  EXPECT_DOUBLE_EQ(pace_.measured(4).value(), 0.01);
}

}  // namespace
}  // namespace optile::daemon
