// Parts that the policies' ways of learning share. Pure.
#pragma once

#include <cmath>
#include <vector>

#include "placement/policy/matrix.h"
#include "placement/random.h"

namespace optile::placement::policy {

// A column of the row, by the row's logarithms of probabilities.
int drawn_from(const Matrix& log_probabilities, Eigen::Index row, Random& random);
int likeliest_of(const Matrix& log_probabilities, Eigen::Index row);

// Adds what one action of a row contributes to the gradient of the loss by its logarithms:
// -advantage * log p(action) - entropy_price * entropy of the row.
void add_policy_gradient(const Matrix& log_probabilities, Eigen::Index row, int action,
                         double advantage, double entropy_price, Matrix& gradient);

// What is usually reached, and how far from it: a running mean and a running square.
class RunningBaseline {
 public:
  // How much better the value is than usual, in usual deviations; then takes the value in.
  double advantage(double value);

 private:
  double mean_ = 0;
  double square_ = 0;
  int seen_ = 0;
};

}  // namespace optile::placement::policy
