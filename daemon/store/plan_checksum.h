// A sum over a stored plan, kept beside it: SQLite checks the structure of its file, not what
// stands in a row, and a flipped bit may be another valid width. Pure.
#pragma once

#include <cstdint>

#include "tuner/plan/plan.h"

namespace optile::daemon {

// Never 0. Entries count in the order of their places, of equal places the last one.
uint64_t plan_checksum(const tuner::StoredPlan& plan);

}  // namespace optile::daemon
