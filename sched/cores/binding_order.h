// In which order the threads of a team take processing units, for each binding. Pure; any thread.
#pragma once

#include <vector>

#include "perfmodel/machine/budget.h"
#include "perfmodel/machine/machine.h"
#include "perfmodel/profile/configuration.h"

namespace optile::sched {

// Element i is the os index for thread i. Compact fills tile after tile, so neighbouring ids share
// a tile (they work on neighbouring iterations); mixed is the same order, cut where a tile is half
// full; spread takes one core of every tile first. Any prefix is a team: faster kinds of cores come
// first, then NUMA node after node, whole tiles before parts of tiles. Only units of the budget;
// SMT siblings last in all. Shorter than the budget's units never.
std::vector<int> binding_order(const perfmodel::Machine& machine, const perfmodel::Budget& budget,
                               perfmodel::Binding binding);

// Widths that a binding admits (III-C): spread 1 … number of tiles; compact: even widths where
// tiles are pairs, else any width ≥ 2, up to all cores of the budget; mixed: odd widths from 3
// where tiles are pairs. Where tiles make no difference (one tile, or every core its own tile)
// these are empty and Binding::kNone admits 1 … cores.
std::vector<int> admitted_widths(const perfmodel::Machine& machine, const perfmodel::Budget& budget,
                                 perfmodel::Binding binding);

}  // namespace optile::sched
