#include "perfmodel/profile/counts.h"

#include <gtest/gtest.h>

namespace optile::perfmodel {
namespace {

using std::chrono::microseconds;

constexpr uint64_t kOp = 7;

CountedExecution execution(int width, Nanoseconds duration) {
  CountedExecution one;
  one.key = kOp;
  one.width = width;
  one.duration = duration;
  one.regions = 1;
  one.threads = static_cast<uint32_t>(width);
  one.events = {CountedEvent::kCycles, CountedEvent::kInstructions, CountedEvent::kLlcMisses};
  one.counts = {1000, 2000, 10, 999};
  return one;
}

TEST(Counts, ComputesMeansAndRatios) {
  Counts counts;
  CountedExecution one = execution(4, microseconds(100));
  counts.add(one);
  one.counts = {3000, 2000, 30, 999};
  counts.add(one);
  const OpCounts* op = counts.find(kOp, 4);
  ASSERT_NE(op, nullptr);
  EXPECT_EQ(op->executions(), 2u);
  EXPECT_EQ(op->threads(), 4.0);
  EXPECT_EQ(op->mean(CountedEvent::kCycles), 2000.0);
  EXPECT_EQ(op->mean(CountedEvent::kLlcMisses), 20.0);
  EXPECT_EQ(op->ratio(CountedEvent::kLlcMisses, CountedEvent::kInstructions), 0.01);
  EXPECT_FALSE(op->mean(CountedEvent::kL1Hits).has_value());
  EXPECT_FALSE(op->ratio(CountedEvent::kCycles, CountedEvent::kMigrations).has_value());
}

TEST(Counts, MultiplexedGroupsAverageOverOwnExecutions) {
  Counts counts;
  CountedExecution one = execution(4, microseconds(100));
  counts.add(one);
  one.events = {CountedEvent::kCycles, CountedEvent::kInstructions, CountedEvent::kL1Hits};
  one.counts = {1000, 2000, 500, 0};
  counts.add(one);
  const OpCounts* op = counts.find(kOp, 4);
  EXPECT_EQ(op->mean(CountedEvent::kLlcMisses), 10.0);
  EXPECT_EQ(op->mean(CountedEvent::kL1Hits), 500.0);
  EXPECT_EQ(op->mean(CountedEvent::kCycles), 1000.0);
}

TEST(Counts, ShortExecutionsAreExcludedFromMeans) {
  Counts counts;
  counts.add(execution(4, kLeastCounted - Nanoseconds(1)));
  CountedExecution many = execution(4, 10 * kLeastCounted);
  many.regions = 11;  // each of them too short
  counts.add(many);
  counts.add(execution(4, kLeastCounted));
  const OpCounts* op = counts.find(kOp, 4);
  EXPECT_EQ(op->too_short(), 2u);
  EXPECT_EQ(op->executions(), 1u);
  EXPECT_EQ(op->mean(CountedEvent::kCycles), 1000.0);
}

TEST(Counts, BusyCoresAreTaskClockOverTime) {
  Counts counts;
  CountedExecution one = execution(4, microseconds(100));
  one.events = {CountedEvent::kTaskClockNs};
  one.counts = {350000};
  counts.add(one);
  EXPECT_DOUBLE_EQ(*counts.find(kOp, 4)->busy_cores(), 3.5);
}

TEST(Counts, FallsBackToMostCountedWidth) {
  Counts counts;
  EXPECT_EQ(counts.find(kOp, 4), nullptr);
  counts.add(execution(1, microseconds(100)));
  counts.add(execution(2, microseconds(100)));
  counts.add(execution(2, microseconds(100)));
  EXPECT_EQ(counts.find(kOp, 4), counts.find(kOp, 2));
  EXPECT_EQ(counts.find(kOp, 1)->executions(), 1u);
  EXPECT_EQ(counts.find(kOp + 1, 1), nullptr);
}

TEST(Counts, LimitsWidthsPerOp) {
  Counts counts;
  const int most = static_cast<int>(Counts::kMostWidths);
  for (int width = 1; width <= 1000; ++width) counts.add(execution(width, microseconds(100)));
  EXPECT_EQ(counts.executions(), Counts::kMostWidths);
  counts.add(execution(most, microseconds(100)));
  EXPECT_EQ(counts.find(kOp, most)->executions(), 2u);
  EXPECT_EQ(counts.find(kOp, 1000)->executions(), 2u) << "the width that was counted most";
}

TEST(Counts, IgnoresUnknownEvents) {
  Counts counts;
  CountedExecution one = execution(4, microseconds(100));
  one.events = {static_cast<CountedEvent>(200), CountedEvent::kNothing};
  counts.add(one);
  EXPECT_EQ(counts.find(kOp, 4)->executions(), 1u);
  EXPECT_FALSE(counts.find(kOp, 4)->mean(CountedEvent::kNothing).has_value());
}

}  // namespace
}  // namespace optile::perfmodel
