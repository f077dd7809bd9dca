// How 64-bit costs become doubles that a bound can be proven with: divided by a power of two, and
// rounded down to a multiple of 1/1024. While all that may be chosen at once costs less than 2^51
// nothing is lost; beyond, no choice gets dearer, so that a bound stays one.
#pragma once

#include "placement/strategy/problem.h"

namespace optile::placement {

// Doubles are multiples of 1/kGrid, which the bound divides them into.
inline constexpr double kGrid = 1024;
inline constexpr int kGridBits = 10;
// Stands for kForbidden among doubles. All sums of real costs are at most half of it, and the sum
// of two walls is still exact on the grid.
inline constexpr double kWall = 4398046511104.0;  // 2^42

class CostScale {
 public:
  CostScale() = default;
  // `greatest` is the greatest sum of costs that there can be.
  explicit CostScale(Total greatest);

  // kWall where the cost forbids.
  double scaled(Cost cost) const;
  // Of a sum, to the nearest; for what need not be proven.
  double nearest(Total sum) const;
  // The least whole cost that `scaled`, a multiple of the grid, does not exceed.
  Total at_least(double scaled) const;
  // Whether scaled() loses nothing.
  bool exact() const { return bits_ <= kGridBits; }

 private:
  int bits_ = 0;
};

// Of a multiple of the grid below 2^53, how many grid steps it has; exact.
inline Total grid_steps(double value) {
  return static_cast<Total>(value * kGrid);
}

}  // namespace optile::placement
