// E1, load (spec 2), the one place that states it:
//   load(d) = times of the nodes on d
//           + output times of nodes on d that somebody elsewhere reads, each tensor once
//           + output times of tensors from elsewhere that somebody on d reads, each once.
// Tensors pass through the memory of the CPUs, so that the last two are 0 for a CPU. The cost is
// the largest load; memory on d must not exceed its cap. Moves cost O(tensors at the unit).
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "placement/cluster.h"
#include "placement/units.h"

namespace optile::placement {

struct LoadProblem {
  const Units& units;
  const Cluster& cluster;

  bool can_run(UnitId unit, DeviceId d) const {
    return units.time_ms(unit, d) < std::numeric_limits<double>::infinity();
  }
};

// Of one thread.
class LoadState {
 public:
  LoadState(const LoadProblem& problem, std::vector<DeviceId> assignment);

  const std::vector<DeviceId>& assignment() const { return assignment_; }
  DeviceId device(UnitId unit) const { return assignment_[static_cast<std::size_t>(unit)]; }
  const std::vector<double>& load() const { return load_; }
  const std::vector<double>& memory() const { return memory_; }
  double cost() const;    // infinite where something cannot run on its device
  double excess() const;  // memory beyond the caps, as a sum of fractions of them
  bool feasible() const { return excess() <= 0; }

  // What moving the unit would add to each device's load: `changes()` afterwards holds it for the
  // devices in `changed()`, 0 for others.
  void probe(UnitId unit, DeviceId to);
  const std::vector<DeviceId>& changed() const { return changed_; }
  const std::vector<double>& changes() const { return changes_; }
  // excess() after the probed move.
  double probed_excess(UnitId unit, DeviceId to) const;

  void move(UnitId unit, DeviceId to);
  // Sums everything anew, against the drift of additions.
  void recount();

 private:
  void add(DeviceId device, double ms);
  void add_transfer(DeviceId device, double ms) {
    if (pays_[static_cast<std::size_t>(device)]) add(device, ms);
  }
  std::int32_t& count(int net, DeviceId device) {
    return counts_[static_cast<std::size_t>(net) * devices_ + static_cast<std::size_t>(device)];
  }
  // Devices with readers of the net, apart from the given one.
  int others(int net, DeviceId device) {
    return spread_[static_cast<std::size_t>(net)] - (count(net, device) > 0 ? 1 : 0);
  }
  double excess_of(DeviceId device, double memory) const;

  const Units* units_;
  std::size_t devices_;
  std::vector<double> caps_;
  std::vector<DeviceId> assignment_;
  std::vector<double> load_;
  std::vector<double> memory_;
  std::vector<std::int32_t> counts_;  // readers of a net on a device
  std::vector<std::int32_t> spread_;  // devices with readers of a net
  std::vector<DeviceId> changed_;
  std::vector<double> changes_;
  std::vector<bool> touched_;
  std::vector<bool> pays_;  // for transfers: it is no CPU
  bool caps_matter_ = false;
};

// Written another way, for answers: the state's moves are checked against it.
struct LoadFigures {
  std::vector<double> load;
  std::vector<double> memory;
  double cost = 0;
  bool feasible = false;
  std::string violation;
};
LoadFigures evaluate_load(const Graph& graph, const Cluster& cluster,
                          const std::vector<DeviceId>& assignment);

}  // namespace optile::placement
