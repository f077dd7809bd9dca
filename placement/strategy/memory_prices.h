// What a unit of memory costs at each moment: Lagrange multipliers of the memory limit. A choice
// within the limit never pays more with prices than without, which is what makes bounds of them.
#pragma once

#include <cstddef>
#include <vector>

#include "placement/strategy/core.h"
#include "placement/strategy/usage_profile.h"

namespace optile::placement {

class MemoryPrices {
 public:
  // All 0. The core must outlive it.
  explicit MemoryPrices(const Core& core);

  bool limited() const { return !prices_.empty(); }
  const std::vector<double>& values() const { return prices_; }
  // Negative values become 0.
  void set(std::vector<double> prices);
  // The price of one unit over a node's life.
  double over(MomentSpan live) const { return static_cast<double>(steps_over(live)) * step_; }
  // What this much costs over a node's life, rounded down to the costs' grid; at most kWall.
  double paid(MomentSpan live, Usage usage) const;
  // What all the room is worth in steps of the costs' grid, rounded up: the part of a bound that
  // does not depend on choices.
  Total worth_of_room() const { return worth_; }

 private:
  Total steps_over(MomentSpan live) const {
    return live.empty() || prices_.empty() ? 0 : sums_[live.end] - sums_[live.begin];
  }

  const Core& core_;
  int bits_ = 0;  // prices are multiples of 2^-bits_, so that sums of them are exact
  double step_ = 1;
  std::vector<double> prices_;
  std::vector<Total> sums_;  // in steps
  Total worth_ = 0;
};

// The use at every moment of a choice among the core's strategies, above what everybody uses.
std::vector<Total> usage_of(const Core& core, const std::vector<std::uint16_t>& values);

}  // namespace optile::placement
