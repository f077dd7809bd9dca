// A bound for the latency of one sample that knows of memory: what does not fit the accelerators is
// on CPUs.
#pragma once

#include "placement/budget.h"
#include "placement/cluster.h"
#include "placement/graph.h"

namespace optile::placement {

// The integer program in which each unit is on some accelerator or on a CPU, all accelerators'
// memory is one, transfers take no time, and a path takes as long as its nodes; solved by CBC until
// the budget is spent. Proven; `known` where it is no better or the graph has more than 5,000
// nodes. `cost` is that of a feasible placement, or infinite.
double latency_program_bound(const Graph& graph, const Cluster& cluster, double known, double cost,
                             Budget& budget);

}  // namespace optile::placement
