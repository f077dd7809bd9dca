// A placement that a new one has to stay close to, since what is moved has to be sent: the graph
// has changed a little and is placed again. Immutable once made; several threads may read it.
#pragma once

#include <cstdint>
#include <vector>

#include "placement/neighbours.h"
#include "placement/units.h"

namespace optile::placement {

class PreviousPlacement {
 public:
  PreviousPlacement() = default;  // there was none: no move counts
  // `nodes`: the device that each node was on, -1 for one that is new or whose device is gone; at
  // most `most` nodes may end elsewhere.
  PreviousPlacement(const Units& units, const std::vector<DeviceId>& nodes, std::uint64_t most);

  bool limits() const { return !homes_.empty(); }
  std::int64_t most() const { return most_; }
  // How many nodes more are moved with the unit on `to` than with it on `from`.
  std::int64_t change(UnitId unit, DeviceId from, DeviceId to) const {
    if (homes_.empty()) return 0;
    const auto at = static_cast<std::size_t>(unit);
    return (from == homes_[at] ? nodes_[at] : 0) - (to == homes_[at] ? nodes_[at] : 0);
  }
  std::int64_t moved(const std::vector<DeviceId>& units) const;

  // All where they were; a new unit where most of its neighbours are, or on some device that can
  // run it.
  std::vector<DeviceId> start(const Units& units, const Neighbours& neighbours,
                              const std::vector<DeviceId>& devices) const;

 private:
  std::vector<DeviceId> homes_;      // of each unit; -1: it has none
  std::vector<std::int32_t> nodes_;  // of each unit, that were at its home
  std::int64_t elsewhere_ = 0;       // nodes that were not where the rest of their unit was
  std::int64_t most_ = 0;
};

// How many nodes a search has moved away from where they were.
class MovedNodes {
 public:
  MovedNodes(const PreviousPlacement& previous, const std::vector<DeviceId>& units)
      : previous_(previous), count_(previous.moved(units)) {}

  std::int64_t count() const { return count_; }
  // `more` may be negative.
  bool allows(std::int64_t more) const { return more <= 0 || count_ + more <= previous_.most(); }
  void add(std::int64_t more) { count_ += more; }

 private:
  const PreviousPlacement& previous_;
  std::int64_t count_;
};

}  // namespace optile::placement
