// When what was remembered for addresses ends: a program may unload a library and load another one,
// or the same rebuilt, at the same place. The shim keeps only runtimes and libraries loaded whose
// functions it calls, never the program's own code, which would be found instead of the new one.
#pragma once

#include <stdint.h>

namespace optile::preload {

// Greater each time that an object was unloaded; what was found out about an address at a smaller
// one is to be asked for again. Any thread.
inline uint32_t unloadings_so_far = 0;
inline uint32_t unloadings() {
  return __atomic_load_n(&unloadings_so_far, __ATOMIC_ACQUIRE);
}

}  // namespace optile::preload
