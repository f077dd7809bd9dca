// Methods that know no objective beyond balance and cut: each gives every unit a device. They are
// starts for others and baselines. All are deterministic; those with a seed, from it.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "base/result.h"
#include "placement/budget.h"
#include "placement/cluster.h"
#include "placement/graph.h"
#include "placement/units.h"

namespace optile::placement {

using UnitAssignment = std::vector<DeviceId>;

// The devices to divide among: the accelerators, or all where there are none.
std::vector<DeviceId> working_devices(const Cluster& cluster);
// Puts each unit that cannot run where it is onto the device that runs it fastest.
void make_runnable(const Units& units, UnitAssignment& assignment);
// All on the fastest device with room for everything; on the fastest where there is none.
UnitAssignment on_one_device(const Units& units, const Cluster& cluster);
UnitAssignment at_random(const Units& units, const Cluster& cluster, std::uint64_t seed);

// Units in a topological order of the forward pass.
std::vector<UnitId> unit_order(const Graph& graph, const Units& units);
// The same by depth first, which keeps branches together.
std::vector<UnitId> branch_order(const Graph& graph, const Units& units);
// The order cut at equal shares of the time, a share being the device's speed among all.
UnitAssignment in_blocks(const Units& units, const Cluster& cluster,
                         const std::vector<UnitId>& order);

// PipeDream's dynamic program over a chain: the best cut of the order into intervals, one for each
// device at most, under E1 and the memory caps. O(n^2) loads; `most` bounds the units of a chain,
// to which a longer one is coarsened first.
UnitAssignment chain_cut(const Units& units, const Cluster& cluster,
                         const std::vector<UnitId>& order, int most, Budget& budget);

// Each reader of a tensor is joined to its producer; the tensor's time is split over them.
struct JoinedUnits {
  std::vector<std::map<UnitId, double>> rows;  // of each unit: the others, and how much joins them
  double largest = 0;
};
JoinedUnits joined_units(const Units& units);

// By how much devices may miss their shares of the time, as a fraction: of refine, METIS, Scotch.
inline constexpr double kTolerance = 0.1;

// METIS with two constraints (time, memory), and Scotch's mapping onto a weighted complete graph.
base::Result<UnitAssignment> by_metis(const Units& units, const Cluster& cluster,
                                      std::uint64_t seed);
base::Result<UnitAssignment> by_scotch(const Units& units, const Cluster& cluster,
                                       std::uint64_t seed);

}  // namespace optile::placement
