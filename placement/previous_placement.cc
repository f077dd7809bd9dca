#include "placement/previous_placement.h"

#include <algorithm>
#include <limits>
#include <map>

#include "base/at.h"

namespace optile::placement {
namespace {

using base::at;

}  // namespace

PreviousPlacement::PreviousPlacement(const Units& units, const std::vector<DeviceId>& nodes,
                                     std::uint64_t most)
    : homes_(at(units.size()), -1),
      nodes_(at(units.size()), 0),
      most_(static_cast<std::int64_t>(
          std::min<std::uint64_t>(most, std::numeric_limits<std::int32_t>::max()))) {
  std::vector<std::map<DeviceId, std::int32_t>> where(at(units.size()));
  std::int64_t old = 0;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (nodes[i] < 0) continue;
    ++where[at(units.of(static_cast<NodeId>(i)))][nodes[i]];
    ++old;
  }
  std::int64_t at_home = 0;
  for (std::size_t unit = 0; unit < where.size(); ++unit) {
    for (const auto& [device, count] : where[unit]) {
      if (count <= nodes_[unit]) continue;
      homes_[unit] = device;
      nodes_[unit] = count;
    }
    at_home += nodes_[unit];
  }
  elsewhere_ = old - at_home;
}

std::int64_t PreviousPlacement::moved(const std::vector<DeviceId>& units) const {
  if (homes_.empty()) return 0;
  std::int64_t moved = elsewhere_;
  for (std::size_t unit = 0; unit < units.size(); ++unit) {
    if (units[unit] != homes_[unit]) moved += nodes_[unit];
  }
  return moved;
}

std::vector<DeviceId> PreviousPlacement::start(const Units& units, const Neighbours& neighbours,
                                               const std::vector<DeviceId>& devices) const {
  std::vector<DeviceId> start = homes_;
  std::vector<UnitId> open;
  const auto can_run = [&](UnitId unit, DeviceId device) {
    return units.time_ms(unit, device) < std::numeric_limits<double>::infinity();
  };
  for (UnitId unit = 0; unit < units.size(); ++unit) {
    DeviceId& home = start[at(unit)];
    if (home >= 0 && can_run(unit, home)) continue;
    home = -1;
    open.push_back(unit);
  }
  std::vector<int> votes(at(units.devices()));
  const auto elected = [&](UnitId unit) {
    std::fill(votes.begin(), votes.end(), 0);
    DeviceId best = -1;
    for (const UnitId other : neighbours.of(unit)) {
      const DeviceId there = start[at(other)];
      if (there < 0 || !can_run(unit, there)) continue;
      if (++votes[at(there)] > (best < 0 ? 0 : votes[at(best)])) best = there;
    }
    return best;
  };
  // New units may have new neighbours, so that they are gone through until none finds its place.
  for (bool found = true; found && !open.empty();) {
    const std::size_t before = open.size();
    std::erase_if(open, [&](UnitId unit) {
      start[at(unit)] = elected(unit);
      return start[at(unit)] >= 0;
    });
    found = open.size() < before;
  }
  for (std::size_t i = 0; i < open.size(); ++i) {
    start[at(open[i])] = devices[i % devices.size()];
  }
  return start;
}

}  // namespace optile::placement
