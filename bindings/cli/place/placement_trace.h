// `--trace FILE` of `optile place`: what happens when under a placement, as Chrome's trace events:
// a process for each device, its nodes on the first track, its transfers below. Pure.
#pragma once

#include <string>
#include <vector>

#include "placement/cluster.h"
#include "placement/timeline.h"

namespace optile::cli {

// What takes no time is left out: viewers would nest what follows in it.
std::string placement_trace(const placement::Graph& graph, const placement::Cluster& cluster,
                            std::vector<placement::Span> spans);

}  // namespace optile::cli
