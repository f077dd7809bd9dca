// How long everything in a step takes, in whole ticks. A tick is a power of two of a millisecond,
// so short that 2^52 of them outlast the step: sums of them are exact, and a simulation that begins
// later goes on exactly as it would have, only later. That is what lets one stop where it meets an
// earlier one again. Immutable; several threads may read it.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "placement/cluster.h"

namespace optile::placement {

struct StepSetting;

using Ticks = std::int64_t;
inline constexpr Ticks kNoTicks = std::numeric_limits<Ticks>::max();  // never

// A node in one micro-batch: micro-batch * nodes + node.
using ItemId = std::int32_t;

class StepTimes {
 public:
  StepTimes(const Graph& graph, const Cluster& cluster, const StepSetting& setting);

  // Of a node in one micro-batch; kNoTicks where the device cannot run it.
  Ticks time(NodeId id, DeviceId d) const {
    return time_[static_cast<std::size_t>(kind_[static_cast<std::size_t>(d)]) * output_.size() +
                 static_cast<std::size_t>(id)];
  }
  // Of moving its output of one micro-batch over the default link.
  Ticks output(NodeId id) const { return output_[static_cast<std::size_t>(id)]; }
  double ms(Ticks ticks) const { return static_cast<double>(ticks) * tick_; }
  // Of one micro-batch, over routed links.
  double bytes(NodeId id) const {
    return bytes_.empty() ? 0 : bytes_[static_cast<std::size_t>(id)];
  }
  Ticks latency(double ms) const;
  // `ms` after `now`, but not before it, on a grid so coarse that another way to the same figure
  // comes out the same although it was rounded elsewhere.
  Ticks coarse(Ticks now, double ms) const;
  // The longest way from a node's start to the end of its micro-batch, in milliseconds: times on
  // its fastest device, and transfers.
  const std::vector<double>& ways() const { return way_; }

 private:
  double tick_ = 1;
  std::vector<int> kind_;    // of each device: those of one kind take the same time
  std::vector<Ticks> time_;  // by kind and node
  std::vector<Ticks> output_;
  std::vector<double> bytes_;  // empty but for routed links
  std::vector<double> way_;
};

// Items in the order in which a device takes them when several are ready: earlier micro-batches
// first, then longer ways, then smaller numbers.
std::vector<ItemId> items_by_rank(const std::vector<double>& ways, int micro_batches);

}  // namespace optile::placement
