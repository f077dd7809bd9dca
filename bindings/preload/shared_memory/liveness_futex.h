// Tells the daemon of this process's end without a word: one thread holds a robust mutex in the
// client region, and when that thread ends the kernel marks the mutex and wakes whoever watches it,
// long before it has taken the process's memory apart (docs/design/0015-client-death-and-masks.md).
//
// The mutex guards nothing and nobody ever waits for it here: it is tried, never locked. Once held,
// its region must stay mapped: it is linked into the thread's list of robust mutexes.
#pragma once

#include <linux/futex.h>

#include "bindings/abi/layout.h"

namespace optile::preload {

// By the thread that attaches, before anybody else knows the region. Where the C library or the
// kernel refuses, the word stays 0 and the daemon relies on the connection alone.
void hold_life(optile_client_region* client);

// At an op boundary: the thread that held it has ended, and the process has not.
inline bool life_is_loose(const optile_client_region* client) {
  const uint32_t word = __atomic_load_n(optile_liveness_futex(&client->header), __ATOMIC_RELAXED);
  return (word & FUTEX_OWNER_DIED) != 0;
}
// The calling thread holds it from now on, unless another one is quicker.
void take_over_life(optile_client_region* client);

}  // namespace optile::preload
