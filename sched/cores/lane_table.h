// Lanes: master threads with a team each. An op runs on one, and a lane whose last op had another
// width has to change its team first. As many lanes as ops ever ran at a time. One thread.
#pragma once

#include <cstddef>
#include <vector>

#include "perfmodel/profile/switching_cost.h"

namespace optile::sched {

class LaneTable {
 public:
  // A free lane, best one that has the width already, and what changing it costs (zero for a lane
  // that never ran anything: teams are made before the first step that counts).
  struct Taken {
    int lane = 0;
    perfmodel::Nanoseconds cost{0};
  };
  Taken take(int width, const perfmodel::SwitchingCost& cost);
  void release(int lane);
  void release_all();  // keeps the widths: the next step begins with the teams of the last
  // Whether a free lane has this width.
  bool has_free(int width) const {
    const auto index = static_cast<std::size_t>(width);
    return index < free_.size() && free_[index] > 0;
  }

 private:
  struct Lane {
    int width = 0;
    bool busy = false;
  };
  void count_free(int width, int by);

  std::vector<Lane> lanes_;
  std::vector<int> free_;  // by width: free lanes that have it
};

}  // namespace optile::sched
