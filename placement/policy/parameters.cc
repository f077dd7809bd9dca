#include "placement/policy/parameters.h"

#include <cmath>

namespace optile::placement::policy {
namespace {

constexpr double kMeanDecay = 0.9;
constexpr double kSquareDecay = 0.999;
constexpr double kTiny = 1e-8;

}  // namespace

int Parameters::add_weights(std::string name, int rows, int columns, Random& random) {
  const int index = add_constant(std::move(name), rows, columns, 0);
  const double most = std::sqrt(6.0 / (rows + columns));
  Matrix& value = at(index).value;
  for (Eigen::Index i = 0; i < value.size(); ++i) value(i) = most * (2 * random.unit() - 1);
  return index;
}

int Parameters::add_constant(std::string name, int rows, int columns, double value) {
  const Matrix zero = Matrix::Zero(rows, columns);
  all_.push_back({std::move(name), Matrix::Constant(rows, columns, value), zero, zero, zero});
  return static_cast<int>(all_.size()) - 1;
}

void Parameters::step(double rate, double longest) {
  double squares = 0;
  for (const One& one : all_) squares += one.gradient.squaredNorm();
  if (std::isfinite(squares) && squares > 0) {
    const double norm = std::sqrt(squares);
    const double scale = norm > longest ? longest / norm : 1;
    ++steps_;
    const double mean_part = 1 - std::pow(kMeanDecay, steps_);
    const double square_part = 1 - std::pow(kSquareDecay, steps_);
    for (One& one : all_) {
      one.mean = kMeanDecay * one.mean + (1 - kMeanDecay) * scale * one.gradient;
      one.square =
          kSquareDecay * one.square + (1 - kSquareDecay) * scale * scale * one.gradient.cwiseAbs2();
      one.value.array() -=
          rate / mean_part * one.mean.array() / ((one.square.array() / square_part).sqrt() + kTiny);
    }
  }
  for (One& one : all_) one.gradient.setZero();
}

}  // namespace optile::placement::policy
