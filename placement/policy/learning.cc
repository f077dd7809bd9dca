#include "placement/policy/learning.h"

#include <algorithm>

namespace optile::placement::policy {
namespace {

constexpr double kForget = 0.1;
constexpr double kLeastDeviation = 1e-6;

}  // namespace

int drawn_from(const Matrix& log_probabilities, Eigen::Index row, Random& random) {
  double left = random.unit();
  for (Eigen::Index c = 0; c < log_probabilities.cols(); ++c) {
    left -= std::exp(log_probabilities(row, c));
    if (left < 0) return static_cast<int>(c);
  }
  return likeliest_of(log_probabilities, row);
}

int likeliest_of(const Matrix& log_probabilities, Eigen::Index row) {
  Eigen::Index best = 0;
  log_probabilities.row(row).maxCoeff(&best);
  return static_cast<int>(best);
}

void add_policy_gradient(const Matrix& log_probabilities, Eigen::Index row, int action,
                         double advantage, double entropy_price, Matrix& gradient) {
  gradient(row, action) -= advantage;
  const auto logs = log_probabilities.row(row).array();
  gradient.row(row).array() += entropy_price * logs.exp() * (logs + 1);
}

double RunningBaseline::advantage(double value) {
  const double part = std::max(kForget, 1.0 / ++seen_);
  const double deviation = std::sqrt(square_);
  const double above = seen_ > 1 ? value - mean_ : 0;
  square_ += part * (above * above - square_);
  mean_ += part * (value - mean_);
  if (seen_ <= 2) return 0;
  return std::clamp(above / std::max(deviation, kLeastDeviation), -3.0, 3.0);
}

}  // namespace optile::placement::policy
