// OptCNN's own search: nodes with two neighbours and parallel edges are eliminated until none is
// left, all choices of the nodes that remain are enumerated, and the eliminations are undone in
// reverse order. Exact. In O(E C^3 + K C^K), for E edges, C strategies and K nodes that remain.
// Source: OptCNN, algorithm 1, equations 2 and 3.
#pragma once

#include <cstddef>

#include "base/result.h"
#include "placement/budget.h"
#include "placement/strategy/problem.h"

namespace optile::placement {

struct EliminationOutcome {
  StrategyChoice choice;
  std::size_t remained = 0;  // K
};

// The problem is sound. kInvalid where it limits memory, where nothing is allowed, or where what
// remains has more than 2^24 choices; kUnavailable where the budget was spent before the end.
base::Result<EliminationOutcome> eliminate_nodes_and_edges(const StrategyProblem& problem,
                                                           Budget& budget);

}  // namespace optile::placement
