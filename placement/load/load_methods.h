// The methods of E1 by name.
#pragma once

#include <vector>

#include "placement/place.h"
#include "placement/units.h"

namespace optile::placement {

base::Result<Answer> place_load(const Graph& graph, const Cluster& cluster, const Request& request,
                                Budget& budget);

// What partitioners give, for other objectives too: single, expert, random, block, refine, metis,
// scotch, pipedream. kNotFound for another.
base::Result<std::vector<DeviceId>> partition_by_name(const Graph& graph, const Units& units,
                                                      const Cluster& cluster,
                                                      const Request& request, Budget& budget);

}  // namespace optile::placement
