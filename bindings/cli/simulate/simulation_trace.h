// A simulated step as Chrome's trace events: one track for each group of cores (a tile, or cores of
// one NUMA node where there are many), one for their second hardware threads where ops have them,
// and further ones where several ops are on a group at one time. Pure.
#pragma once

#include <string>

#include "sched/simulation/step_simulator.h"

namespace optile::cli {

// Groups that one trace shows at most, beyond one for each NUMA node; machines with more tiles have
// several tiles to a group.
inline constexpr int kMostTraceGroups = 48;

std::string simulation_trace(const sched::StepOutline& outline, const sched::StepOutcome& step,
                             const std::string& title);

}  // namespace optile::cli
