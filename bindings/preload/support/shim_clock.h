// The clock of all events of this process: the processor's counter where it is steady, else
// CLOCK_MONOTONIC. Any thread.
#pragma once

#include "base/cpu_counter.h"
#include "bindings/abi/layout.h"

namespace optile::preload {

inline bool counter_is_used() {
  static int known = 0;  // 0 = not asked yet, 1 = yes, 2 = no; asking twice does no harm
  int state = __atomic_load_n(&known, __ATOMIC_RELAXED);
  if (state == 0) {
    state = base::cpu_counter_is_steady() ? 1 : 2;
    __atomic_store_n(&known, state, __ATOMIC_RELAXED);
  }
  return state == 1;
}

inline uint64_t ticks() {
  return counter_is_used() ? base::cpu_counter() : base::monotonic_ns();
}

}  // namespace optile::preload
