// The least load of a small graph, by trying everything.
#pragma once

#include <algorithm>
#include <limits>
#include <vector>

#include "placement/load/load_state.h"
#include "placement/units.h"

namespace optile::placement {

// Infinite where nothing fits.
inline double least_load(const Graph& graph, const Cluster& cluster) {
  const Units units = Units::of(graph, cluster);
  std::vector<DeviceId> devices(static_cast<std::size_t>(units.size()), 0);
  double best = std::numeric_limits<double>::infinity();
  for (;;) {
    const LoadFigures figures = evaluate_load(graph, cluster, units.to_nodes(devices));
    if (figures.feasible) best = std::min(best, figures.cost);
    std::size_t at = 0;
    while (at < devices.size() && ++devices[at] == cluster.size()) devices[at++] = 0;
    if (at == devices.size()) return best;
  }
}

}  // namespace optile::placement
