#include "placement/parallelism/hybrid.h"

#include <gtest/gtest.h>

namespace optile::placement {
namespace {

// Figures of the paper's section 3: speed-ups on two devices and ratios of epochs.
ParallelismProblem inception() {
  ParallelismProblem problem;
  problem.epochs = {{32, 4.0}, {64, 7.0}, {128, 12.0}, {256, 12.0 * 1.878}};
  problem.model_speedup = {{2, 1.32}};
  return problem;
}

ParallelismProblem big_lstm() {
  ParallelismProblem problem;
  problem.epochs = {{16, 1.0}, {32, 3.2}, {64, std::nullopt}};
  problem.model_speedup = {{2, 1.22}};
  return problem;
}

TEST(Parallelism, AdvisesHybridForInceptionOn64Devices) {
  const auto advice = advise(inception(), 64);
  ASSERT_TRUE(advice.ok()) << advice.message();
  ASSERT_EQ(advice.value().choices.size(), 2U);
  EXPECT_NEAR(*advice.value().choices[1].over_data_parallel, 1.155, 1e-9);
  EXPECT_EQ(advice.value().best, 1U);
}

// 26.5 % more at 256 devices follow from a ratio of epochs of 1.878.
TEST(Parallelism, PredictsGainForInceptionOn256Devices) {
  const auto advice = advise(inception(), 256);
  ASSERT_TRUE(advice.ok());
  EXPECT_NEAR(*advice.value().choices[1].over_data_parallel, 1.32 / 2 * 1.878, 1e-9);
  EXPECT_NEAR(1.32 / 2 * 23 / 12, 1.265, 1e-3);
}

TEST(Parallelism, AdvisesHybridWhereBigLstmDoesNotConverge) {
  const auto advice = advise(big_lstm(), 32);
  ASSERT_TRUE(advice.ok());
  EXPECT_NEAR(*advice.value().choices[1].over_data_parallel, 1.22 * 3.2 / 2, 1e-9);
  EXPECT_NEAR(*advice.value().choices[1].over_data_parallel, 1.95, 0.005);
  EXPECT_EQ(advice.value().choices[1].over_same_replicas, 1.22);
  const auto more = advise(big_lstm(), 64);
  ASSERT_TRUE(more.ok());
  EXPECT_FALSE(more.value().choices[0].converges);
  EXPECT_FALSE(more.value().choices[1].over_data_parallel.has_value());
  EXPECT_EQ(more.value().best, 1U);
}

TEST(Parallelism, NeededSpeedupAgreesWithGain) {
  ParallelismProblem problem = inception();
  for (const double speedup : {1.0, 1.2, 1.6, 2.0}) {
    problem.model_speedup[2] = speedup;
    for (const int devices : {32, 64, 128, 256}) {
      const auto advice = advise(problem, devices);
      ASSERT_TRUE(advice.ok());
      const ParallelismChoice& choice = advice.value().choices[1];
      EXPECT_EQ(speedup > *choice.needed_speedup, *choice.over_data_parallel > 1);
      EXPECT_EQ(advice.value().best == 1U, *choice.over_data_parallel > 1);
    }
  }
}

TEST(Parallelism, RejectsExtrapolationAndInvalidInput) {
  EXPECT_FALSE(advise(inception(), 512).ok());
  EXPECT_FALSE(advise(big_lstm(), 48).ok());
  const auto between = advise(inception(), 96);
  ASSERT_TRUE(between.ok());
  EXPECT_TRUE(between.value().choices[0].converges);
  ParallelismProblem wrong = inception();
  wrong.model_speedup[1] = 2;
  EXPECT_FALSE(advise(wrong, 64).ok());
  EXPECT_FALSE(advise(inception(), 0).ok());
  EXPECT_FALSE(advise({}, 8).ok());
}

}  // namespace
}  // namespace optile::placement
