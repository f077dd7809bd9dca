// The regions that the program has opened so far, by the function that holds a region's body.
// Fixed size, lock-free; any thread.
#pragma once

#include <stdint.h>

namespace optile::preload {

struct KnownRegion {
  const void* function = nullptr;
  uint64_t key = 0;      // 0 = not complete yet
  uint32_t reasons = 0;  // that lie in its object (region_rules.h)
  uint32_t clause = 0;   // 1 once it came with a number of threads
  uint64_t told = 0;     // what the daemon was told of its tuning
  uint32_t made = 0;     // unloadings() when it was last looked at
};

// Null where more regions are known than can be kept. What is returned lives as long as the
// process; of a function that lies where an unloaded one was it says nothing of that.
KnownRegion* known_region(const void* function);

// Never 0; the same in every run.
uint64_t region_key(const void* function);

}  // namespace optile::preload
