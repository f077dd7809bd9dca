// What no placement can go below under E1. Pure.
#pragma once

#include "placement/load/load_state.h"

namespace optile::placement {

// The larger of two: all work spread over all devices, each unit where it runs best by a linear
// program over two kinds of devices (exact for one kind); and the longest unit.
double work_bound(const LoadProblem& problem);

}  // namespace optile::placement
