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
  double over(MomentSpan live) const {
    return live.empty() || prices_.empty() ? 0 : sums_[live.end] - sums_[live.begin];
  }
  // What all the room is worth, rounded up: the part of a bound that does not depend on choices.
  double worth_of_room() const { return worth_; }

 private:
  const Core& core_;
  std::vector<double> prices_;
  std::vector<double> sums_;
  double worth_ = 0;
};

// The use at every moment of a choice among the core's strategies, above what everybody uses.
std::vector<Usage> usage_of(const Core& core, const std::vector<std::uint16_t>& values);

}  // namespace optile::placement
