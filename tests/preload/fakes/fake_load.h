// What the shim reads of the machine's load. A test's machine is as busy as it happens to be, and
// in a crowd the shim attaches later: so it is calm here unless a test says otherwise.
#pragma once

#include <cstdint>

namespace optile::test {

// From now on so many want to run.
void say_runnable(uint32_t runnable);

}  // namespace optile::test
