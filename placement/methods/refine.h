// Partition and refine (Tavarageri et al., "Data-driven and dynamic partitioning", section 3.1;
// spec 2): units move to the device they exchange most bytes with, within shares of the time. The
// paper's two moves look at incoming bytes only and can undo each other; here a move has to lower a
// potential: violation of the shares first, then cut bytes and imbalance.
#pragma once

#include <cstdint>

#include "placement/budget.h"
#include "placement/methods/partitioners.h"

namespace optile::placement {

struct RefineOptions {
  double epsilon = kTolerance;  // that a device may miss its share by, as a fraction of it
  std::uint64_t most_moves = 1'000'000;
  // Units below this part of the whole time, and stateful ones, go where the neighbour goes that
  // they exchange most with.
  double cheap = 1e-4;
};

struct Refined {
  UnitAssignment assignment;
  std::uint64_t moves = 0;
  bool ended = false;  // no move was left; else the move limit or the budget ended it
};

Refined refine(const Units& units, const Cluster& cluster, const UnitAssignment& start,
               const RefineOptions& options, Budget& budget);

}  // namespace optile::placement
