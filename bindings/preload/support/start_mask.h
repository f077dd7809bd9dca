// The processing units that this process may run on as it starts. A runtime that the program is
// linked with binds the main thread in its constructor, where the user wants threads bound, and
// that runs before ours: from then on the thread's mask is one place of many. So whoever comes
// first learns it: the shim's constructor, or the first thread that is about to be bound.
#pragma once

#include <stdint.h>

#include "bindings/abi/limits.h"

namespace optile::preload {

struct UnitMask {
  uint64_t words[OPTILE_MAX_CPUS / 64] = {};  // all 0 where the kernel did not say

  uint32_t count() const;
};

// Learned at the first call; the same for the life of the process. Allocates nothing.
const UnitMask& start_mask();

}  // namespace optile::preload
