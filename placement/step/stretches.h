// A step falls into stretches: between two waists, nodes that every other node comes before or
// after, nothing runs but the nodes between them. Pure.
#pragma once

#include <vector>

#include "placement/graph.h"
#include "placement/step/step.h"

namespace optile::placement {

// Places in the graph's order, increasing.
std::vector<int> waists(const Graph& graph);

// From the end of one waist to the end of the next one, as a graph of its own.
struct Stretch {
  Graph graph;
  // Of each node of `graph`, the node it stands for. Where `has_source`, node 0 is the waist before
  // the stretch: it takes no time and no memory here and brings its tensor.
  std::vector<NodeId> nodes;
  bool has_source = false;
  // The waist that the stretch ends with: it comes after all others. -1: it ends with any.
  NodeId sink = -1;
};

std::vector<Stretch> stretches_of(const Graph& graph);

}  // namespace optile::placement
