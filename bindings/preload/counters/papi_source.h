// The one file pair that knows PAPI: finds out which events this machine grants and which of them
// can be counted together, and counts them per thread, one group at a time, never multiplexed.
#pragma once

#include "bindings/preload/counters/counter_api.h"

namespace optile::counters {

// Once a process and tier. Fills `found` and returns 0, or says why there is nothing of this tier.
int find_papi(uint32_t tier, optile_counters_found* found);
int follow_papi(uint32_t group);
int read_papi(uint64_t counts[OPTILE_GROUP_EVENTS]);
void leave_papi();
uint32_t papi_followers();

}  // namespace optile::counters
