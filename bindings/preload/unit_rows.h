// Which issuing thread has which places in the plan's order of processing units: rows, each place
// one thread's at most. Who begins no op for a while loses its own to whoever needs some. No locks;
// any thread, for its own slot.
#pragma once

#include <stdint.h>

namespace optile::preload {

// Takes `wanted` places in a row of the first `places` for the thread in `slot`; where it begins,
// or -1. What it had before is given back. Who has not begun an op since `stale`, by the clock of
// note_use(), and is not inside one, has to make room.
int take_row(uint32_t slot, uint32_t wanted, uint32_t places, uint64_t stale);
// Nobody has taken any of it since.
bool has_row(uint32_t slot);
// An op of its begins.
void note_use(uint32_t slot, uint64_t now);
// The thread of this slot has ended, or wants none any more.
void give_row_back(uint32_t slot);

}  // namespace optile::preload
