// `auto` for E1: starts from several methods, annealing on several threads, a polish.
#pragma once

#include <vector>

#include "placement/load/load_state.h"
#include "placement/place.h"

namespace optile::placement {

// Devices of the units. Counts in `budget`; the threads share its limits evenly, so that the
// answer does not depend on how many cores there are.
std::vector<DeviceId> search_load(const Graph& graph, const LoadProblem& problem,
                                  const Request& request, Budget& budget);

// Descents from random starts, the best of `starts`.
std::vector<DeviceId> descents(const LoadProblem& problem, int starts, std::uint64_t seed,
                               Budget& budget);

}  // namespace optile::placement
