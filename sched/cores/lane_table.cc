#include "sched/cores/lane_table.h"

namespace optile::sched {

void LaneTable::count_free(int width, int by) {
  const auto index = static_cast<std::size_t>(width);
  if (index >= free_.size()) free_.resize(index + 1, 0);
  free_[index] += by;
}

LaneTable::Taken LaneTable::take(int width, const perfmodel::SwitchingCost& cost) {
  // The first with the width, else the last that is free.
  const bool same = has_free(width);
  const auto suits = [&](const Lane& lane) { return !lane.busy && (!same || lane.width == width); };
  std::size_t free = 0;
  if (same) {
    while (free < lanes_.size() && !suits(lanes_[free])) ++free;
  } else {
    free = lanes_.size();
    while (free > 0 && !suits(lanes_[free - 1])) --free;
    free = free == 0 ? lanes_.size() : free - 1;
  }
  if (free == lanes_.size()) {
    lanes_.push_back({width, true});
    return {static_cast<int>(lanes_.size()) - 1, perfmodel::Nanoseconds(0)};
  }
  Lane& lane = lanes_[free];
  const Taken taken{static_cast<int>(free), cost.between(lane.width, width)};
  count_free(lane.width, -1);
  lane = {width, true};
  return taken;
}

void LaneTable::release(int index) {
  Lane& lane = lanes_[static_cast<std::size_t>(index)];
  if (!lane.busy) return;
  lane.busy = false;
  count_free(lane.width, 1);
}

void LaneTable::release_all() {
  for (std::size_t i = 0; i < lanes_.size(); ++i) release(static_cast<int>(i));
}

}  // namespace optile::sched
