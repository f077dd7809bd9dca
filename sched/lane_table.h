// Lanes: master threads with a team each. An op runs on one, and a lane whose last op had another
// width has to change its team first. As many lanes as ops ever ran at a time. One thread.
#pragma once

#include <vector>

#include "perfmodel/switching_cost.h"

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
  bool has_free(int width) const;

 private:
  struct Lane {
    int width = 0;
    bool busy = false;
  };
  std::vector<Lane> lanes_;
};

}  // namespace optile::sched
