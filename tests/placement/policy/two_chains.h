// A family of graphs whose best placements are plain to see.
#pragma once

#include <vector>

#include "tests/placement/made_graphs.h"

namespace optile::placement::policy {

// Two chains between a start and an end. Transfers are dearer than nodes, so that each chain
// belongs on one device.
inline Graph two_chains(int length, double node_ms) {
  std::vector<Node> nodes(static_cast<std::size_t>(2 * length + 2));
  for (Node& node : nodes) {
    node.accelerator_ms = node.cpu_ms = node_ms;
    node.output_ms = 1.5 * node_ms;
  }
  std::vector<Edge> edges;
  const NodeId last = 2 * length + 1;
  for (NodeId chain = 0; chain < 2; ++chain) {
    NodeId before = 0;
    for (int i = 0; i < length; ++i) {
      const NodeId id = 1 + chain * length + i;
      edges.push_back({before, id});
      before = id;
    }
    edges.push_back({before, last});
  }
  return make_graph(nodes, edges);
}

}  // namespace optile::placement::policy
