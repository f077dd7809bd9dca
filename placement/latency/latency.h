// Latency of one sample (spec 2), the one place that states it: each accelerator runs one part of
// the graph, once. It starts when all tensors that it reads from elsewhere are in the CPUs' memory,
// and takes the times of those transfers, each tensor once, of its nodes, and of its own tensors
// that others read. A node on a CPU takes its time there and starts when its inputs are there; CPUs
// are enough for all. The cost is the last finish. Parts that wait for each other have no meaning.
#pragma once

#include <memory>

#include "placement/place.h"
#include "placement/search/annealing.h"

namespace optile::placement {

std::unique_ptr<CostModel> latency_model(const Graph& graph, const Cluster& cluster,
                                         const Units& units);

struct LatencyFigures {
  std::vector<double> start;  // of each node on a CPU; of one on an accelerator, its part's
  std::vector<double> load;   // how long each device is busy; CPUs as if they ran one after another
  std::vector<double> memory;
  double cost = 0;
  bool feasible = false;
  std::string violation;
};
// Written another way, for answers.
LatencyFigures evaluate_latency(const Graph& graph, const Cluster& cluster,
                                const std::vector<DeviceId>& assignment);

// The longest path, each unit where it runs best, without transfers.
double latency_bound(const Graph& graph, const Cluster& cluster);

base::Result<Answer> place_latency(const Graph& graph, const Cluster& cluster,
                                   const Request& request, Budget& budget);

}  // namespace optile::placement
