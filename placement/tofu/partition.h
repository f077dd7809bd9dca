// How a graph of operators is split over 2^m workers: halved m times, each time by dynamic
// programming on the coarse graph (Tofu, recursive search). Pure; one thread.
#pragma once

#include <vector>

#include "base/result.h"
#include "placement/tofu/coarse_graph.h"
#include "placement/tofu/operator_costs.h"

namespace optile::placement::tofu {

inline constexpr int kMaxWorkers = 64;

struct Partition {
  int workers = 1;
  std::vector<History> tensors;    // of each tensor of the graph
  std::vector<History> operators;  // of each operator
  double bytes_moved = 0;          // in one step, by all workers together
  std::vector<double> by_level;    // the same, had the halving ended there
  // Every halving was the best one after those before it. What all of them together could reach is
  // not known.
  bool exact = true;
  int coarse_tensors = 0;
  int coarse_nodes = 0;
  double parameter_bytes_per_worker = 0;  // of the worker that holds most: all hold the same
};

// kInvalid where the graph is wrong or `workers` no power of two up to kMaxWorkers.
base::Result<Partition> partition(const OperatorGraph& graph, int workers);

// What replicas exchange that share out the samples: each gradient of a parameter through a ring.
double data_parallel_bytes(const OperatorGraph& graph, int workers);

}  // namespace optile::placement::tofu
