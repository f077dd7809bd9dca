// Graphs made for tests, from a seed.
#pragma once

#include <cstdlib>
#include <string>
#include <vector>

#include "placement/cluster.h"
#include "placement/graph.h"
#include "placement/random.h"

namespace optile::placement {

// Times that only rounding keeps apart.
inline constexpr double kExact = 1e-9;

inline std::string nowhere(std::size_t index) {
  return "entry " + std::to_string(index);
}

// Ends the test where it cannot be made.
inline Graph make_graph(std::vector<Node> nodes, const std::vector<Edge>& edges) {
  base::Result<Graph> graph = Graph::make(std::move(nodes), edges, nowhere, nowhere);
  if (!graph.ok()) std::abort();
  return std::move(graph).value();
}

struct MadeOptions {
  int nodes = 12;
  double density = 0.3;
  int colours = 0;  // this many pairs of neighbouring nodes share a colour
};

inline Graph random_graph(const MadeOptions& options, std::uint64_t seed) {
  Random random(seed);
  std::vector<Node> nodes(static_cast<std::size_t>(options.nodes));
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    nodes[i].name = "n" + std::to_string(i);
    nodes[i].accelerator_ms = 1 + random.below(20);
    nodes[i].cpu_ms = nodes[i].accelerator_ms * 4;
    nodes[i].memory_bytes = 1 + random.below(10);
    nodes[i].output_ms = 0.25 * random.below(12);
    nodes[i].output_bytes = nodes[i].output_ms * 1e6;
  }
  for (int c = 0; c < options.colours; ++c) {
    const auto at = static_cast<std::size_t>(random.below(options.nodes - 1));
    nodes[at].colour = c;
    nodes[at + 1].colour = c;
  }
  std::vector<Edge> edges;
  for (int a = 0; a < options.nodes; ++a) {
    for (int b = a + 1; b < options.nodes; ++b) {
      if (random.unit() < options.density) edges.push_back({a, b, random.below(8) == 0});
    }
  }
  return make_graph(std::move(nodes), edges);
}

}  // namespace optile::placement
