#include <metis.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "placement/methods/partitioners.h"

namespace optile::placement {
namespace {

constexpr double kLargestMetisWeight = 1e6;

// To whole numbers, the largest of which is kLargestMetisWeight.
idx_t metis_weight(double value, double largest) {
  if (largest <= 0) return 0;
  return static_cast<idx_t>(std::llround(value / largest * kLargestMetisWeight));
}

struct MetisAdjacency {
  std::vector<idx_t> first, targets, weights;
};

MetisAdjacency metis_adjacency(const Units& units) {
  const auto [rows, largest] = joined_units(units);
  MetisAdjacency made;
  made.first.push_back(0);
  for (const auto& row : rows) {
    for (const auto& [other, weight] : row) {
      made.targets.push_back(other);
      made.weights.push_back(metis_weight(weight, largest) + 1);
    }
    made.first.push_back(static_cast<idx_t>(made.targets.size()));
  }
  return made;
}

}  // namespace

base::Result<UnitAssignment> by_metis(const Units& units, const Cluster& cluster,
                                      std::uint64_t seed) {
  const std::vector<DeviceId> devices = working_devices(cluster);
  UnitAssignment assignment(static_cast<std::size_t>(units.size()), devices.front());
  auto parts = static_cast<idx_t>(devices.size());
  if (parts < 2 || units.size() < 2) return assignment;
  MetisAdjacency graph = metis_adjacency(units);
  double longest = 0;
  double largest = 0;
  const auto time = [&](UnitId unit) {
    const double ms = units.time_ms(unit, devices.front());
    return std::isfinite(ms) ? ms : 0;
  };
  for (UnitId unit = 0; unit < units.size(); ++unit) {
    longest = std::max(longest, time(unit));
    largest = std::max(largest, units.memory(unit));
  }
  std::vector<idx_t> weights;
  for (UnitId unit = 0; unit < units.size(); ++unit) {
    weights.push_back(metis_weight(time(unit), longest));
    weights.push_back(metis_weight(units.memory(unit), largest));
  }
  double speeds = 0;
  for (const DeviceId d : devices) speeds += cluster.device(d).speed;
  std::vector<real_t> shares;
  for (const DeviceId d : devices) {
    shares.push_back(static_cast<real_t>(cluster.device(d).speed / speeds));
    shares.push_back(1.0F / static_cast<real_t>(parts));
  }
  // Memory may lie unevenly: it has caps, not shares.
  real_t balance[2] = {static_cast<real_t>(1 + kTolerance),
                       static_cast<real_t>(1 + 4 * kTolerance)};
  idx_t options[METIS_NOPTIONS];
  METIS_SetDefaultOptions(options);
  options[METIS_OPTION_SEED] = static_cast<idx_t>(seed & 0x7fffffff);
  options[METIS_OPTION_NUMBERING] = 0;
  idx_t count = units.size();
  idx_t constraints = 2;
  idx_t cut = 0;
  std::vector<idx_t> found(static_cast<std::size_t>(units.size()));
  const int state = METIS_PartGraphKway(
      &count, &constraints, graph.first.data(), graph.targets.data(), weights.data(), nullptr,
      graph.weights.data(), &parts, shares.data(), balance, options, &cut, found.data());
  if (state != METIS_OK) {
    return base::Error{base::ErrorKind::kInternal, "METIS ended with " + std::to_string(state)};
  }
  for (std::size_t i = 0; i < found.size(); ++i) {
    assignment[i] = devices[static_cast<std::size_t>(found[i])];
  }
  make_runnable(units, assignment);
  return assignment;
}

}  // namespace optile::placement
