// `--dot FILE` of `optile place`: a placement as a graph that Graphviz draws. Pure.
#pragma once

#include <string>

#include "placement/answer.h"
#include "placement/cluster.h"
#include "placement/method.h"

namespace optile::cli {

// A cluster of a colour for each device that has nodes, with its load and memory; nodes n0, n1, ...
// by their place in the graph, with their time there; edges between devices with their bytes, those
// that carry nothing dashed. `answer` has a device for each node, feasible or not.
std::string placement_dot(const placement::Model& model, const placement::Cluster& cluster,
                          const placement::Answer& answer, const std::string& title,
                          placement::Objective objective);

}  // namespace optile::cli
