// What a policy learns from: draws, gradients of logarithms, baselines.
#include "placement/policy/learning.h"

#include <gtest/gtest.h>

namespace optile::placement::policy {
namespace {

Matrix logs_of(std::initializer_list<double> probabilities) {
  Matrix logs(1, static_cast<Eigen::Index>(probabilities.size()));
  Eigen::Index at = 0;
  for (const double one : probabilities) logs(0, at++) = std::log(one);
  return logs;
}

TEST(Learning, DrawsByProbability) {
  const Matrix logs = logs_of({0.2, 0.7, 0.1});
  Random random(3);
  int counts[3] = {};
  for (int i = 0; i < 20'000; ++i) ++counts[drawn_from(logs, 0, random)];
  EXPECT_NEAR(counts[0], 4000, 200);
  EXPECT_NEAR(counts[1], 14'000, 300);
  EXPECT_EQ(likeliest_of(logs, 0), 1);
}

TEST(Learning, PolicyGradientMatchesFiniteDifferences) {
  const Matrix logs = logs_of({0.2, 0.7, 0.1});
  const double advantage = 1.5;
  const double price = 0.3;
  const auto loss = [&](const Matrix& at) {
    double entropy = 0;
    for (Eigen::Index c = 0; c < 3; ++c) entropy -= std::exp(at(0, c)) * at(0, c);
    return -advantage * at(0, 2) - price * entropy;
  };
  Matrix gradient = Matrix::Zero(1, 3);
  add_policy_gradient(logs, 0, 2, advantage, price, gradient);
  for (Eigen::Index c = 0; c < 3; ++c) {
    Matrix above = logs;
    Matrix below = logs;
    above(0, c) += 1e-6;
    below(0, c) -= 1e-6;
    EXPECT_NEAR(gradient(0, c), (loss(above) - loss(below)) / 2e-6, 1e-8);
  }
}

TEST(Learning, BaselineNormalisesAndClampsAdvantage) {
  RunningBaseline baseline;
  EXPECT_EQ(baseline.advantage(10), 0);
  EXPECT_EQ(baseline.advantage(12), 0);
  Random random(1);
  for (int i = 0; i < 200; ++i) baseline.advantage(10 + 2 * random.unit());
  EXPECT_GT(baseline.advantage(12.5), 1);
  EXPECT_LT(baseline.advantage(9.5), -1);
  EXPECT_EQ(baseline.advantage(1e9), 3);  // however far
}

}  // namespace
}  // namespace optile::placement::policy
