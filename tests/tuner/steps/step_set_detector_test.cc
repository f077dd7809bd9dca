// Steps that are known by which ops are in them.
#include "tuner/steps/step_set_detector.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

namespace optile::tuner {
namespace {

using perfmodel::OpPlace;

bool play(StepSetDetector& steps, const std::vector<OpPlace>& ops) {
  for (const OpPlace& op : ops) steps.add(op);
  return steps.end_step();
}

// Steps with every op, also those that turn out to be small.
void play_first(StepSetDetector& steps, const std::vector<OpPlace>& ops) {
  for (std::size_t i = 0; i < StepSetDetector::kFirstSteps; ++i) EXPECT_FALSE(play(steps, ops));
}

TEST(StepSetDetector, FindsStepWhoseOpsComeInAnyOrder) {
  std::vector<OpPlace> ops = {{1, 10}, {1, 11}, {2, 20}, {2, 20}, {3, 30}};
  std::mt19937 random(7);
  StepSetDetector steps;
  play_first(steps, {{1, 10}, {1, 11}, {2, 20}, {2, 20}, {3, 30}, {4, 40}});
  for (int i = 1; i < StepSetDetector::kEqualSteps; ++i) {
    std::shuffle(ops.begin(), ops.end(), random);
    EXPECT_FALSE(play(steps, ops));
  }
  std::shuffle(ops.begin(), ops.end(), random);
  EXPECT_TRUE(play(steps, ops));
  std::sort(ops.begin(), ops.end());
  EXPECT_EQ(steps.step().sequence, ops);
  EXPECT_EQ(steps.step().marker.ops, 5);
  std::shuffle(ops.begin(), ops.end(), random);
  EXPECT_FALSE(play(steps, ops)) << "it is known already";
}

TEST(StepSetDetector, FindsNothingWhileStepsDiffer) {
  StepSetDetector steps;
  for (int i = 0; i < 20; ++i) {
    EXPECT_FALSE(play(steps, {{1, 10}, {2, 20}}));
    EXPECT_FALSE(play(steps, {{1, 10}, {2, 20}, {2, 20}})) << "one op more";
  }
  EXPECT_TRUE(steps.step().sequence.empty());
}

TEST(StepSetDetector, FindsOtherStepLater) {
  StepSetDetector steps;
  play_first(steps, {{1, 10}});
  int found = 0;
  for (int i = 0; i < 5; ++i) found += play(steps, {{1, 10}}) ? 1 : 0;
  for (int i = 0; i < 5; ++i) found += play(steps, {{2, 20}}) ? 1 : 0;
  EXPECT_EQ(found, 2);
  EXPECT_EQ(steps.step().marker.place, (OpPlace{2, 20}));
}

TEST(StepSetDetector, IgnoresStepTooLongToRemember) {
  StepSetDetector steps;
  for (std::size_t step = 0; step < 2 * StepSetDetector::kFirstSteps; ++step) {
    for (std::size_t i = 0; i <= PeriodDetector::kLongestStep; ++i) steps.add({1, i + 1});
    EXPECT_FALSE(steps.end_step());
  }
}

}  // namespace
}  // namespace optile::tuner
