// Solves strategy problems (E3) with a bound beside the answer: reduction to the core; elimination
// of all of it where no table grows past a limit, which is exact; else prices for memory with a
// proven bound from message passing, and search by elimination in windows at those prices.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "placement/answer.h"
#include "placement/budget.h"
#include "placement/strategy/problem.h"

namespace optile::placement {

struct StrategyRequest {
  // `auto`: all of it. `elimination`: exact or an error. `bound`: as auto, but most of the time
  // goes into the bound. `optcnn`: node and edge elimination, exact or an error.
  std::string method = "auto";
  std::uint64_t seed = 1;
};

std::vector<std::string> strategy_methods();

// kInvalid for an unknown method, a problem without any feasible choice, or one that `elimination`
// cannot do. Without limits it stops when it has not gained for long. With a limit on evaluations
// and none on time the answer depends on problem, request and limit alone.
base::Result<Answer> solve_strategy(const StrategyProblem& problem, const StrategyRequest& request,
                                    Budget& budget);

}  // namespace optile::placement
