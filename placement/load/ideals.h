// The best contiguous split under E1, by dynamic programming over ideals: sets of units that hold
// whatever their members wait for (Tarnawski et al., "Efficient algorithms for device placement").
// A stage is the difference of two ideals that follow each other. Where a graph has a backward
// pass, contiguity is that of the forward pass, and backward nodes go with their colour.
#pragma once

#include <cstdint>

#include "base/result.h"
#include "placement/budget.h"
#include "placement/load/load_state.h"

namespace optile::placement {

struct IdealsLimits {
  std::size_t ideals = 8'000'000;
  std::size_t bytes = std::size_t{6} << 30;
  // Only splits below this cost are looked for.
  double below = std::numeric_limits<double>::infinity();
};

struct IdealsFound {
  std::vector<DeviceId> assignment;  // empty where no split is below the limit
  double cost = std::numeric_limits<double>::infinity();
  std::size_t ideals = 0;
  std::uint64_t stages = 0;  // pairs of ideals that were looked at
  bool complete = false;     // the whole space was searched: the cost is the optimum
};

// kUnavailable where there are too many ideals, kInvalid where devices of one kind differ.
base::Result<IdealsFound> best_contiguous(const Graph& graph, const LoadProblem& problem,
                                          const IdealsLimits& limits, Budget& budget);

}  // namespace optile::placement
