// Which units exchange tensors. Built once; several threads may read it.
#pragma once

#include <span>
#include <vector>

#include "placement/units.h"

namespace optile::placement {

class Neighbours {
 public:
  explicit Neighbours(const Units& units);
  // In increasing order, each once; of a net with very many readers only its producer's end.
  std::span<const UnitId> of(UnitId unit) const {
    const auto at = static_cast<std::size_t>(unit);
    return {items_.data() + first_[at], first_[at + 1] - first_[at]};
  }

 private:
  std::vector<std::size_t> first_;
  std::vector<UnitId> items_;
};

}  // namespace optile::placement
