// Whether the shim only watches, since a library of the process says how many threads there are
// (runtimes/other_manager.h). Any thread.
#pragma once

#include <stdint.h>

namespace optile::preload {

inline uint32_t aside = 0;  // 1 = it was found

// One is loaded, or was at some time.
inline bool stepped_aside() {
  return __atomic_load_n(&aside, __ATOMIC_RELAXED) != 0;
}
inline void step_aside() {
  __atomic_store_n(&aside, 1, __ATOMIC_RELAXED);
}

}  // namespace optile::preload
