#include "placement/parallelism/hybrid.h"

#include <gtest/gtest.h>

#include <cmath>

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

TEST(Parallelism, WeighsEfficiencyOfReplicas) {
  ParallelismProblem problem;
  problem.epochs = {{1, 1.0}, {4, 1.0}};
  problem.model_speedup = {{2, 1.5}, {4, 1.6}};
  EXPECT_EQ(advise(problem, 4).value().best, 0U);
  problem.scaling_efficiency = {{2, 0.9}, {4, 0.5}};
  const ParallelismAdvice advice = advise(problem, 4).value();
  // Of 4, 2 and 1 replicas: 4 * 0.5, 2 * 1.5 * 0.9 and 1.6.
  EXPECT_EQ(advice.best, 1U);
  EXPECT_NEAR(*advice.choices[1].over_data_parallel, 2.7 / 2, 1e-9);
  EXPECT_NEAR(*advice.choices[1].needed_speedup, 2 * 0.5 / 0.9, 1e-9);
  EXPECT_NEAR(*advice.choices[2].over_data_parallel, 1.6 / 2, 1e-9);
  problem.scaling_efficiency.erase(2);  // the square root of that of 4
  EXPECT_NEAR(*advise(problem, 4).value().choices[1].needed_speedup, 2 * std::sqrt(0.5), 1e-9);
  problem.scaling_efficiency = {{2, 0.9}};
  EXPECT_FALSE(advise(problem, 4).ok());
  problem.scaling_efficiency = {{4, 0.0}};
  EXPECT_FALSE(advise(problem, 4).ok());
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
