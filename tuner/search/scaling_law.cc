#include "tuner/search/scaling_law.h"

#include <array>
#include <cmath>
#include <cstddef>
#include <set>
#include <utility>

namespace optile::tuner {
namespace {

using Row = std::array<double, 4>;  // three coefficients and the right side

// Gauss with pivoting on three equations; false when they are singular.
bool solve(std::array<Row, 3>& rows) {
  for (std::size_t col = 0; col < 3; ++col) {
    std::size_t pivot = col;
    for (std::size_t row = col + 1; row < 3; ++row) {
      if (std::abs(rows[row][col]) > std::abs(rows[pivot][col])) pivot = row;
    }
    if (std::abs(rows[pivot][col]) < 1e-18) return false;
    std::swap(rows[col], rows[pivot]);
    for (std::size_t row = 0; row < 3; ++row) {
      if (row == col) continue;
      const double factor = rows[row][col] / rows[col][col];
      for (std::size_t k = col; k < 4; ++k) rows[row][k] -= factor * rows[col][k];
    }
  }
  return true;
}

}  // namespace

std::optional<ScalingLaw> fit_scaling_law(const std::vector<LawPoint>& points) {
  std::set<int> widths;
  std::array<Row, 3> normal{};
  for (const LawPoint& point : points) {
    if (point.width < 1 || !(point.ns > 0)) continue;
    widths.insert(point.width);
    const double weight = 1 / (point.ns * point.ns);
    const std::array<double, 3> terms = {1.0, 1.0 / point.width, static_cast<double>(point.width)};
    for (std::size_t i = 0; i < 3; ++i) {
      for (std::size_t k = 0; k < 3; ++k) normal[i][k] += weight * terms[i] * terms[k];
      normal[i][3] += weight * terms[i] * point.ns;
    }
  }
  if (widths.size() < 3) return std::nullopt;
  // Scaled so that the singularity test does not depend on the unit of time.
  double largest = 0;
  for (const Row& row : normal) {
    for (std::size_t k = 0; k < 3; ++k) largest = std::max(largest, std::abs(row[k]));
  }
  if (!(largest > 0)) return std::nullopt;
  for (Row& row : normal) {
    for (double& value : row) value /= largest;
  }
  if (!solve(normal)) return std::nullopt;
  return ScalingLaw{normal[0][3] / normal[0][0], normal[1][3] / normal[1][1],
                    normal[2][3] / normal[2][2]};
}

}  // namespace optile::tuner
