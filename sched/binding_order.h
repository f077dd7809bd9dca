// In which order the threads of a team take processing units, for each binding. Pure; any thread.
#pragma once

#include <vector>

#include "perfmodel/budget.h"
#include "perfmodel/case.h"
#include "perfmodel/machine.h"

namespace optile::sched {

// Element i is the os index for thread i. Compact fills tile after tile, so neighbouring ids share
// a tile (they work on neighbouring iterations); spread takes one core of every tile first. Only
// units of the budget; SMT siblings last in both. Shorter than the budget's units never.
std::vector<int> binding_order(const perfmodel::Machine& machine, const perfmodel::Budget& budget,
                               perfmodel::Binding binding);

// Widths that a binding admits (III-C): spread 1 … number of tiles; compact: even widths where
// tiles are pairs, else multiples that fill tiles or any width ≥ 2, up to all cores of the budget.
// Where tiles make no difference (one tile, or every core its own tile) both are empty and
// Binding::kNone admits 1 … cores.
std::vector<int> admitted_widths(const perfmodel::Machine& machine, const perfmodel::Budget& budget,
                                 perfmodel::Binding binding);

}  // namespace optile::sched
