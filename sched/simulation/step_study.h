// One strategy on one step, beside the two uniform settings that it has to beat. Pure; any thread.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "sched/simulation/manual_search.h"
#include "sched/simulation/step_simulator.h"

namespace optile::sched {

// Every strategy that study_step() knows, in the order in which a user reads them, but for the
// uniform settings by number, "uniform:INTER,INTRA".
std::vector<std::string> strategy_names();

struct StepStudy {
  std::string strategy;
  std::string description;  // what the strategy says about itself
  StepOutcome step;
  double recommendation_seconds = 0;
  ManualOptimum manual;
};

// Steps that a strategy learns from before the one that counts.
inline constexpr int kWarmUpSteps = 3;

// An unknown name: kNotFound, and the message lists those there are.
base::Result<StepStudy> study_step(const StepOutline& outline, const StepConditions& conditions,
                                   const std::string& strategy);

}  // namespace optile::sched
