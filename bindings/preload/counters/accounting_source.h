// What the kernel keeps of every thread anyway: its time on a processor, its page faults, its
// context switches. Needs no permission, so it is there where perf events are not. Any thread.
#pragma once

#include "bindings/preload/counters/counter_api.h"

namespace optile::counters {

void describe_accounting(optile_counters_found* found);
int read_accounting(uint64_t counts[OPTILE_GROUP_EVENTS]);

}  // namespace optile::counters
