// The manual optimum: the uniform setting whose simulated step is shortest, found by trying. Pure;
// any thread.
#pragma once

#include <vector>

#include "base/result.h"
#include "sched/simulation/step_simulator.h"
#include "sched/strategies/uniform_strategy.h"

namespace optile::sched {

struct ManualOptimum {
  UniformSetting setting;
  double seconds = 0;  // of its step, without noise
  int tried = 0;
};

// Ops at a time that are tried: from 1 on, as long as the best so far is among the last few.
inline constexpr int kInterBeyondBest = 3;
inline constexpr int kMostInter = 64;

// Every intra-op width from 1 to the cores, and the cores times 2 … hardware threads, for every
// inter-op number, as long as the step is small enough (kTriedOps op runs in all); otherwise widths
// a few percent apart first, then every width around the best ones. Of equals the first, by
// inter-op and then intra-op.
base::Result<ManualOptimum> find_manual_optimum(const StepOutline& outline,
                                                const StepConditions& conditions);

// One setting, without noise; infinite when it takes longer than `limit`.
base::Result<double> uniform_seconds(const StepOutline& outline, const StepConditions& conditions,
                                     UniformSetting setting, double limit);

}  // namespace optile::sched
