// Solves strategy problems (E3) with a bound beside the answer: reduction to the core; elimination
// of all of it where no table grows past a limit, which is exact; else prices for memory with a
// proven bound from message passing, and search by elimination in windows at those prices.
#pragma once

#include <cstdint>

#include "base/result.h"
#include "placement/answer.h"
#include "placement/budget.h"
#include "placement/method.h"
#include "placement/strategy/problem.h"

namespace optile::placement {

struct StrategyRequest {
  StrategyMethod method = StrategyMethod::kAuto;
  std::uint64_t seed = 1;
};

// kInvalid for a problem without any feasible choice, or one that
// kElimination or kOptcnn cannot do. Without limits it stops when it has not gained for long. With
// a limit on evaluations and none on time the answer depends on problem, request and limit alone.
base::Result<Answer> solve_strategy(const StrategyProblem& problem, const StrategyRequest& request,
                                    Budget& budget);

}  // namespace optile::placement
