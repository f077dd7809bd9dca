// A chain whose best placement is plain to see and far from what chance finds.
#pragma once

#include <vector>

#include "tests/placement/made_graphs.h"

namespace optile::placement::policy {

inline constexpr int kChain = 24;

// Device 0 is roomy and device 1 four times as fast, with too little memory for the first node.
// On device 0 alone: 48 ms. All but the first node on device 1: 14 ms.
inline Graph chain_with_one_large_node() {
  std::vector<Node> nodes(kChain);
  std::vector<Edge> edges;
  for (NodeId id = 0; id < kChain; ++id) {
    Node& node = nodes[static_cast<std::size_t>(id)];
    node.accelerator_ms = node.cpu_ms = 2;
    node.output_ms = 0.5;
    node.memory_bytes = id == 0 ? 2 : 0;
    if (id > 0) edges.push_back({id - 1, id});
  }
  return make_graph(nodes, edges);
}

inline Cluster roomy_and_fast() {
  Cluster cluster = Cluster::uniform(2, 0, 2);
  cluster.devices[1].speed = 4;
  cluster.devices[1].memory_bytes = 1;
  return cluster;
}

}  // namespace optile::placement::policy
