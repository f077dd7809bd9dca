// Partition and refine (Tavarageri et al., "Data-driven and dynamic partitioning", section 3.1;
// spec 2): units move to the device they exchange most bytes with, within shares of the time.
#pragma once

#include <cstdint>

#include "placement/budget.h"
#include "placement/methods/partitioners.h"

namespace optile::placement {

struct RefineOptions {
  // The paper's two moves as they are printed. They look at incoming bytes only and can undo each
  // other, so `most_moves` ends them. Otherwise a move has to lower a potential, which ends alone:
  // violation of the shares first, then cut bytes and imbalance.
  bool printed = false;
  double epsilon = 0.1;  // that a device may miss its share by, as a fraction of it
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
