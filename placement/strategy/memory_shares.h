// Shares of the memory where nodes compete for it: how much each node of a window may use, so that
// whatever they choose within their shares keeps the limit. Prices cannot divide what a few large
// nodes want at one moment: at any price too many of them take it or too few.
#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

#include "placement/strategy/core.h"

namespace optile::placement {

// Of one thread. The core must outlive it.
class MemoryShares {
 public:
  explicit MemoryShares(const Core& core) : core_(core) {}

  // Some of the nodes that could use memory at a moment, at most `most`, in a random order; a
  // moment is the more likely the higher its price. Empty where no price is positive.
  std::vector<std::uint32_t> competitors(const std::vector<double>& prices, std::size_t most,
                                         std::mt19937_64& random) const;

  // What each node of the window may use, in its order, where the others keep what `values` give
  // them. The first of the window gives up some of what it uses now; the others get all that fits,
  // the earlier first. Where `values` exceed the limit nobody gets more.
  std::vector<Usage> divide(const std::vector<std::uint32_t>& window,
                            const std::vector<std::uint16_t>& values,
                            std::mt19937_64& random) const;

 private:
  const Core& core_;
};

}  // namespace optile::placement
