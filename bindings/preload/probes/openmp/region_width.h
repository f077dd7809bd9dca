// Sets the width of a region before whoever sizes it looks: at the end of the region before, on the
// issuing thread, for the region that its sequence makes expect next. Between two regions the
// program's count is then what the next one is to run with; nowhere else does a count of ours stay
// when nothing of ours is open. What is kept:
//   - no wider than the program's own count, and no region meets another than that first;
//   - a region that was not the expected one runs at the program's own count, and so does whatever
//     else begins: an op, a region of another runtime, one that may not be tuned;
//   - another count than ours was set by the program, stays, and ends tuning for good.
#pragma once

#include "bindings/preload/core/issuing_thread.h"
#include "bindings/preload/probes/openmp/known_regions.h"

namespace optile::preload {

// A region outside any op begins, out of the object around `caller`; null: one that is not known.
// `clause`: it names its own number of threads. Before its op does.
void region_begins(IssuingThread& thread, KnownRegion* region, const void* caller, bool clause);
// It has ended, and so has its op.
void region_ended(IssuingThread& thread);
// Whether a region that is known is open on the thread.
bool is_in_known_region(const IssuingThread& thread);
// Something else than a region of the program's own begins.
void interrupt_regions(IssuingThread& thread);
// Nothing is in force, and nothing expected, for the thread that has this slot.
void forget_region_widths(uint32_t slot);

}  // namespace optile::preload
