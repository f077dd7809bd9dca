#include "sched/lane_table.h"

#include <algorithm>

namespace optile::sched {

LaneTable::Taken LaneTable::take(int width, const perfmodel::SwitchingCost& cost) {
  int free = -1;
  for (std::size_t i = 0; i < lanes_.size(); ++i) {
    if (lanes_[i].busy) continue;
    free = static_cast<int>(i);
    if (lanes_[i].width == width) break;
  }
  if (free < 0) {
    lanes_.push_back({width, true});
    return {static_cast<int>(lanes_.size()) - 1, perfmodel::Nanoseconds(0)};
  }
  Lane& lane = lanes_[static_cast<std::size_t>(free)];
  const Taken taken{free, cost.between(lane.width, width)};
  lane = {width, true};
  return taken;
}

void LaneTable::release(int lane) {
  lanes_[static_cast<std::size_t>(lane)].busy = false;
}

void LaneTable::release_all() {
  for (Lane& lane : lanes_) lane.busy = false;
}

bool LaneTable::has_free(int width) const {
  return std::any_of(lanes_.begin(), lanes_.end(),
                     [width](const Lane& lane) { return !lane.busy && lane.width == width; });
}

}  // namespace optile::sched
