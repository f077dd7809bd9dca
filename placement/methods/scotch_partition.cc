#include <cstdint>
#include <cstdio>
// Scotch's header needs the two above.
#include <scotch.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <mutex>

#include "placement/methods/partitioners.h"

namespace optile::placement {
namespace {

constexpr double kLargestScotchWeight = 1e5;

struct ScotchAdjacency {
  std::vector<SCOTCH_Num> first, targets, weights, loads;
};

SCOTCH_Num scotch_weight(double value, double largest) {
  if (largest <= 0 || !std::isfinite(value)) return 0;
  return static_cast<SCOTCH_Num>(std::llround(value / largest * kLargestScotchWeight));
}

ScotchAdjacency scotch_adjacency(const Units& units, DeviceId device) {
  const auto [rows, largest] = joined_units(units);
  double longest = 0;
  for (UnitId unit = 0; unit < units.size(); ++unit) {
    if (std::isfinite(units.time_ms(unit, device))) {
      longest = std::max(longest, units.time_ms(unit, device));
    }
  }
  ScotchAdjacency made;
  made.first.push_back(0);
  for (UnitId unit = 0; unit < units.size(); ++unit) {
    for (const auto& [other, weight] : rows[static_cast<std::size_t>(unit)]) {
      made.targets.push_back(other);
      made.weights.push_back(scotch_weight(weight, largest) + 1);
    }
    made.first.push_back(static_cast<SCOTCH_Num>(made.targets.size()));
    made.loads.push_back(scotch_weight(units.time_ms(unit, device), longest));
  }
  return made;
}

}  // namespace

base::Result<UnitAssignment> by_scotch(const Units& units, const Cluster& cluster,
                                       std::uint64_t seed) {
  // Scotch draws from one generator of the process.
  static std::mutex mutex;
  const std::lock_guard<std::mutex> lock(mutex);
  const std::vector<DeviceId> devices = working_devices(cluster);
  UnitAssignment assignment(static_cast<std::size_t>(units.size()), devices.front());
  if (devices.size() < 2 || units.size() < 2) return assignment;
  const ScotchAdjacency rows = scotch_adjacency(units, devices.front());
  std::vector<SCOTCH_Num> speeds;
  speeds.reserve(devices.size());
  for (const DeviceId d : devices) {
    speeds.push_back(
        std::max<SCOTCH_Num>(1, static_cast<SCOTCH_Num>(cluster.device(d).speed * 1000)));
  }
  SCOTCH_randomSeed(static_cast<SCOTCH_Num>(seed & 0x7fffffff));
  SCOTCH_randomReset();
  SCOTCH_Graph graph;
  SCOTCH_Arch target;
  SCOTCH_Strat strategy;
  if (SCOTCH_graphInit(&graph) != 0 || SCOTCH_archInit(&target) != 0 ||
      SCOTCH_stratInit(&strategy) != 0) {
    return base::Error{base::ErrorKind::kInternal, "Scotch cannot be started"};
  }
  std::vector<SCOTCH_Num> found(static_cast<std::size_t>(units.size()));
  const bool mapped =
      SCOTCH_graphBuild(&graph, 0, units.size(), rows.first.data(), rows.first.data() + 1,
                        rows.loads.data(), nullptr, static_cast<SCOTCH_Num>(rows.targets.size()),
                        rows.targets.data(), rows.weights.data()) == 0 &&
      SCOTCH_archCmpltw(&target, static_cast<SCOTCH_Num>(speeds.size()), speeds.data()) == 0 &&
      SCOTCH_stratGraphMapBuild(&strategy, SCOTCH_STRATQUALITY,
                                static_cast<SCOTCH_Num>(speeds.size()), kTolerance) == 0 &&
      SCOTCH_graphMap(&graph, &target, &strategy, found.data()) == 0;
  SCOTCH_stratExit(&strategy);
  SCOTCH_archExit(&target);
  SCOTCH_graphExit(&graph);
  if (!mapped) return base::Error{base::ErrorKind::kInternal, "Scotch cannot map this graph"};
  for (std::size_t i = 0; i < found.size(); ++i) {
    assignment[i] = devices[static_cast<std::size_t>(found[i])];
  }
  make_runnable(units, assignment);
  return assignment;
}

}  // namespace optile::placement
