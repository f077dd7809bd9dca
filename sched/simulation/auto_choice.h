// Strategy `auto`: rehearse the step in the simulator, without noise, under look-ahead with several
// prices of a core and under every other strategy there is, and take the one whose step is
// shortest. Never slower than the recommendation, the manual optimum or the paper's strategies, as
// far as the models are true: all are among those rehearsed. Pure; any thread.
#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "sched/simulation/manual_search.h"
#include "sched/strategies/step_strategy.h"

namespace optile::sched {

struct AutoChoice {
  std::unique_ptr<StepStrategy> strategy;  // fresh: it has learnt nothing
  std::string name;                        // of what was chosen
  double rehearsed_seconds = 0;
  int rehearsals = 0;
};

// `outline` and `conditions` outlive the strategy.
base::Result<AutoChoice> choose_auto(const StepOutline& outline, const StepConditions& conditions,
                                     const ManualOptimum& manual);

}  // namespace optile::sched
