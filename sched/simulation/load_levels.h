// How many hold each slot at once, as one set for "at least one", one for "at least two", and so
// on: how crowded an op's cores are is then a few set operations, whatever its width. One thread.
#pragma once

#include <cstddef>
#include <vector>

#include "sched/cores/core_set.h"

namespace optile::sched {

class LoadLevels {
 public:
  void add(const CoreSet& slots) {
    if (levels_.size() == 1 && !levels_[0].overlaps(slots)) {
      levels_[0] |= slots;
      return;
    }
    add_above(slots);
  }
  // Only what was added before.
  void remove(const CoreSet& slots) {
    if (levels_.size() == 1) {
      levels_[0] -= slots;
      return;
    }
    remove_above(slots);
  }
  void clear() { levels_.clear(); }

  // At least the most that hold any slot at all.
  std::size_t depth() const { return levels_.size(); }
  // The most that hold any one of these slots.
  int most(const CoreSet& slots) const {
    for (std::size_t level = levels_.size(); level-- > 0;) {
      if (levels_[level].overlaps(slots)) return static_cast<int>(level) + 1;
    }
    return 0;
  }
  // How many of these slots at least two hold.
  int shared(const CoreSet& slots) const {
    if (levels_.size() < 2) return 0;
    return levels_[1].count_common(slots);
  }

 private:
  void add_above(CoreSet slots) {
    for (std::size_t level = 0; !slots.empty(); ++level) {
      if (level == levels_.size()) levels_.emplace_back();
      levels_[level].add_leaving_known(&slots);
    }
  }
  void remove_above(CoreSet slots) {
    for (std::size_t level = levels_.size(); level-- > 0 && !slots.empty();) {
      levels_[level].cancel(&slots);
    }
    while (!levels_.empty() && levels_.back().empty()) levels_.pop_back();
  }

  std::vector<CoreSet> levels_;
};

}  // namespace optile::sched
