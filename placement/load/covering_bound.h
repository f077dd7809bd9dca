// A bound for E1 that knows of transfers and of what fits, improved for as long as there is time.
//
// For prices of units no placement of load T exists where even the dearest sets that fit T, one for
// each device, have lower prices in sum than all units: the devices must cover the units. Which
// prices prove most is the dual of the program that chooses sets for devices (column generation, or
// Lagrangian relaxation of the covering); it is solved by cutting planes, a set being a row, from
// the centre of what proved most so far (in-out separation). Memory has a price for each kind of
// devices, too, which is not kept as a hard limit but paid for (a Lagrangian relaxation again).
#pragma once

#include "placement/budget.h"
#include "placement/load/load_state.h"

namespace optile::placement {

struct CoveringBound {
  double bound = 0;       // proven; at least `known`
  bool complete = false;  // more time would not help
};

// `known` is a bound, `cost` that of a feasible placement, both above 0 and finite. Uses one
// thread, and up to about 500 MB. Of more than a million units times devices it gives `known`.
CoveringBound covering_bound(const LoadProblem& problem, double known, double cost, Budget& budget);

}  // namespace optile::placement
