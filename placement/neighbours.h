// Which units exchange tensors. Built once; several threads may read it.
#pragma once

#include <span>
#include <vector>

#include "placement/id_set.h"
#include "placement/random.h"
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

// Who is negative in `of` gets what the neighbour has that it exchanges most with, by this number
// of the nets between them: chains of them step by step. What is joined to nobody stays negative.
void follow_neighbours(const Units& units, double Net::*exchanged, std::vector<UnitId>& of);

// Draws connected units of one device. Keeps its memory between calls; of one thread.
class ConnectedGroups {
 public:
  ConnectedGroups(const Neighbours& neighbours, std::size_t units)
      : neighbours_(neighbours), drawn_(units) {}

  // `unit` and at most so many in all that are on its device, by `on`.
  template <typename On>
  const std::vector<UnitId>& draw(UnitId unit, int most, Random& random, On on) {
    drawn_.clear();
    group_.assign({unit});
    drawn_.insert(static_cast<std::size_t>(unit));
    const auto pick = [&random](const auto& units) {
      return units[static_cast<std::size_t>(random.below(static_cast<int>(units.size())))];
    };
    for (int tries = 0; tries < 3 * most && static_cast<int>(group_.size()) < most; ++tries) {
      const auto near = neighbours_.of(pick(group_));
      if (near.empty()) continue;
      const UnitId next = pick(near);
      if (drawn_.contains(static_cast<std::size_t>(next)) || on(next) != on(unit)) continue;
      drawn_.insert(static_cast<std::size_t>(next));
      group_.push_back(next);
    }
    return group_;
  }

 private:
  const Neighbours& neighbours_;
  IdSet drawn_;
  std::vector<UnitId> group_;
};

}  // namespace optile::placement
