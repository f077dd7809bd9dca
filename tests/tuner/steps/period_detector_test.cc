#include "tuner/steps/period_detector.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "bindings/abi/layout.h"

namespace optile::tuner {
namespace {

using perfmodel::Nanoseconds;
using perfmodel::OpPlace;
using Change = PeriodDetector::Change;

// Feeds keys as a client would: with contexts, one microsecond each, and a rest before key 1.
struct Feed {
  PeriodDetector recogniser;
  uint64_t context = 0;
  int64_t now = 0;
  int found = 0;
  int lost = 0;
  int ops = 0;
  int found_at = 0;

  void op(uint64_t key, bool seen = true) {
    if (key == 1) now += 10000;
    const OpPlace place{key, context};
    context = optile_next_context(context, key);
    if (seen) {
      const Change change = recogniser.observe(place, Nanoseconds(now), Nanoseconds(1000));
      found += change == Change::kFound ? 1 : 0;
      lost += change == Change::kLost ? 1 : 0;
      if (change == Change::kFound) found_at = ops;
    }
    ++ops;
    now += 1100;
  }
  void step(const std::vector<uint64_t>& keys) {
    for (uint64_t key : keys) op(key);
  }
  int length() const { return recogniser.step() == nullptr ? 0 : recogniser.step()->marker.ops; }
};

std::vector<uint64_t> distinct(int count, uint64_t first = 1) {
  std::vector<uint64_t> keys;
  for (int i = 0; i < count; ++i) keys.push_back(first + static_cast<uint64_t>(i));
  return keys;
}

// Thirty ops, an inner loop of `loop` ops run `times`, ten others.
std::vector<uint64_t> with_loop(int loop, int times) {
  std::vector<uint64_t> keys = distinct(30);
  for (int i = 0; i < times; ++i) {
    for (uint64_t key : distinct(loop, 100)) keys.push_back(key);
  }
  for (uint64_t key : distinct(10, 500)) keys.push_back(key);
  return keys;
}

TEST(PeriodDetector, ShortStepsNeedMoreRepetitionsThanLongOnes) {
  Feed small;
  small.step(distinct(20));
  small.step(distinct(20));
  EXPECT_EQ(small.length(), 0);
  small.step(distinct(20));
  small.step(distinct(20));
  EXPECT_EQ(small.length(), 20);

  Feed large;
  large.step(distinct(300));
  large.step(distinct(300));
  EXPECT_EQ(large.length(), 0) << "the first ops of a run have no context of the step before";
  large.step(distinct(20));
  EXPECT_EQ(large.length(), 300);
}

TEST(PeriodDetector, MarkerStartsStepAndOccursOnce) {
  Feed feed;
  for (int i = 0; i < 5; ++i) feed.step(with_loop(3, 12));
  ASSERT_NE(feed.recogniser.step(), nullptr);
  const RecognisedStep& step = *feed.recogniser.step();
  EXPECT_EQ(step.sequence.size(), 76u);
  EXPECT_TRUE(step.marker.is(step.sequence.front()));
  EXPECT_EQ(std::count_if(step.sequence.begin(), step.sequence.end(),
                          [&](const OpPlace& place) { return step.marker.is(place); }),
            1);
  EXPECT_EQ(step.marker.place.key, 1u) << "the op after the rest between steps";
}

TEST(PeriodDetector, DoesNotMistakeInnerLoopForStep) {
  Feed feed;
  for (int i = 0; i < 12; ++i) feed.step(with_loop(5, 40));
  EXPECT_EQ(feed.length(), 240);
  EXPECT_EQ(feed.found, 1);
  EXPECT_EQ(feed.lost, 0);
}

TEST(PeriodDetector, WithdrawsLongLoopAndFindsEnclosingStep) {
  Feed feed;
  std::vector<uint64_t> keys = with_loop(5, 200);
  for (uint64_t key : distinct(30, 700)) keys.push_back(key);
  feed.step(keys);
  EXPECT_EQ(feed.found, 1) << "so many repetitions looked like a step";
  EXPECT_EQ(feed.lost, 1) << "and were withdrawn when they ended";
  for (int i = 0; i < 10; ++i) feed.step(keys);
  EXPECT_EQ(feed.length(), 1070);
}

TEST(PeriodDetector, DroppedEventInLoopDoesNotMakeLoopTheStep) {
  Feed feed;
  const std::vector<uint64_t> keys = with_loop(5, 40);
  feed.step(keys);
  for (std::size_t i = 0; i < keys.size(); ++i) feed.op(keys[i], i != 60);
  for (int i = 0; i < 4; ++i) feed.step(keys);
  EXPECT_EQ(feed.length(), 240);
  EXPECT_EQ(feed.found, 1);
}

TEST(PeriodDetector, ReplacesLoopOfLongIterationsByEnclosingStep) {
  Feed feed;
  std::vector<uint64_t> keys;
  for (int i = 0; i < 3; ++i) {
    for (uint64_t key : distinct(100, 100)) keys.push_back(key);
  }
  for (uint64_t key : distinct(80)) keys.push_back(key);
  for (int i = 0; i < 8; ++i) feed.step(keys);
  EXPECT_EQ(feed.length(), 380);
}

TEST(PeriodDetector, FindsStepDespiteOccasionalExtraOps) {
  std::mt19937_64 random(1);
  Feed feed;
  for (int i = 0; i < 30; ++i) {
    for (uint64_t key : distinct(120)) {
      feed.op(key);
      if (random() % 600 == 0) feed.op(9000 + random() % 50);
    }
  }
  EXPECT_EQ(feed.length(), 120);
}

// A program that prints its loss every tenth step, faster than a repetition has to last.
TEST(PeriodDetector, OpInEveryNthStepDoesNotLengthenStep) {
  for (int every : {3, 5, 10, 25}) {
    Feed feed;
    feed.recogniser.set_least_span(Nanoseconds(14 * 1100 * 40));
    for (int i = 1; i <= 200; ++i) {
      feed.step(distinct(40));
      if (i % every == 0) feed.op(9000);
    }
    ASSERT_EQ(feed.length(), 40) << "every " << every << " steps";
    EXPECT_EQ(feed.lost, 0);
    EXPECT_EQ(feed.recogniser.step()->marker.place.context, 0u) << "behind it contexts differ";
  }
}

TEST(PeriodDetector, RequiresMinimumRepetitionTime) {
  Feed feed;
  feed.recogniser.set_least_span(Nanoseconds(1000 * 1000));
  for (int i = 0; i < 12; ++i) feed.step(distinct(30));
  EXPECT_EQ(feed.length(), 0) << "half a millisecond so far";
  for (int i = 0; i < 24; ++i) feed.step(distinct(30));
  EXPECT_EQ(feed.length(), 30);
}

TEST(PeriodDetector, IgnoresStepsBelowShortestLengthAcrossRestart) {
  Feed feed;
  feed.recogniser.set_shortest(31);
  for (int i = 0; i < 12; ++i) feed.step(distinct(30));
  EXPECT_EQ(feed.length(), 0);
  feed.recogniser.restart();
  for (int i = 0; i < 12; ++i) feed.step(distinct(30));
  EXPECT_EQ(feed.length(), 0) << "outlives a restart";
}

TEST(PeriodDetector, FindsStepDespiteDroppedEvents) {
  std::mt19937_64 random(2);
  Feed feed;
  for (int i = 0; i < 60; ++i) {
    for (uint64_t key : distinct(120)) feed.op(key, random() % 400 != 0);
  }
  EXPECT_EQ(feed.length(), 120);
}

TEST(PeriodDetector, FindsStepAfterDifferentFirstStep) {
  Feed feed;
  feed.step(distinct(90, 3000));
  for (int i = 0; i < 25; ++i) feed.step(distinct(70));
  EXPECT_EQ(feed.length(), 70);
}

TEST(PeriodDetector, RecognisesNewStepAfterPhaseChange) {
  Feed feed;
  for (int i = 0; i < 10; ++i) feed.step(distinct(100));
  ASSERT_EQ(feed.length(), 100);
  for (int i = 0; i < 10; ++i) feed.step(distinct(70, 2000));
  EXPECT_GE(feed.lost, 1);
  EXPECT_EQ(feed.length(), 70);
  EXPECT_EQ(feed.recogniser.step()->marker.place.key / 1000, 2u);
}

TEST(PeriodDetector, ReportsRepeatedStepOnce) {
  Feed feed;
  for (int i = 0; i < 50; ++i) feed.step(distinct(100));
  EXPECT_EQ(feed.found, 1);
  EXPECT_EQ(feed.lost, 0);
}

TEST(PeriodDetector, UsesPreferredMarkerThatOccursOnce) {
  Feed plain;
  for (int i = 0; i < 5; ++i) plain.step(distinct(30));
  const OpPlace tenth{plain.recogniser.step()->sequence[10].key, 0};
  Feed feed;
  feed.recogniser.prefer(tenth);
  for (int i = 0; i < 5; ++i) feed.step(distinct(30));
  ASSERT_EQ(feed.length(), 30);
  EXPECT_EQ(feed.recogniser.step()->marker.place, tenth);
}

TEST(PeriodDetector, FingerprintsAreEqualForEqualStepsOnly) {
  Feed a;
  Feed b;
  for (int i = 0; i < 5; ++i) a.step(distinct(30));
  b.step(distinct(7, 800));
  for (int i = 0; i < 9; ++i) b.step(distinct(30));
  EXPECT_EQ(step_fingerprint(a.recogniser.step()->sequence),
            step_fingerprint(b.recogniser.step()->sequence));
  auto other = a.recogniser.step()->sequence;
  std::swap(other[3], other[4]);
  EXPECT_NE(step_fingerprint(other), step_fingerprint(a.recogniser.step()->sequence));
}

TEST(PeriodDetector, FindsStepOfFiveThousandOps) {
  std::mt19937_64 random(4);
  std::vector<uint64_t> keys;
  for (int i = 0; i < 5000; ++i) keys.push_back(1 + random() % 60);
  Feed feed;
  for (int i = 0; i < 3; ++i) feed.step(keys);
  EXPECT_EQ(feed.length(), 5000);
  EXPECT_LE(feed.found_at, 5000 * 2 + 100);
}

TEST(PeriodDetector, FindsNoStepInAperiodicOps) {
  std::mt19937_64 random(5);
  Feed feed;
  for (int i = 0; i < 300000; ++i) feed.op(1 + random() % 40);
  EXPECT_EQ(feed.length(), 0);
}

TEST(PeriodDetector, RestartForgetsStep) {
  Feed feed;
  for (int i = 0; i < 5; ++i) feed.step(distinct(30));
  feed.recogniser.restart();
  EXPECT_EQ(feed.recogniser.step(), nullptr);
  EXPECT_EQ(feed.recogniser.observed(), 0u);
  for (int i = 0; i < 5; ++i) feed.step(distinct(30));
  EXPECT_EQ(feed.length(), 30);
}

}  // namespace
}  // namespace optile::tuner
