// Other libraries that say how many threads a program uses and where they run (DLB, likwid-pin,
// Intel's Thread Composability Manager), as far as it can be told before the start; the shim looks
// again. Pure.
#pragma once

#include <string>
#include <vector>

namespace optile::cli {

// The first one's file name; "" where there is none. `preload`: as LD_PRELOAD has it. `needed`:
// what the program is linked with.
std::string other_manager(const std::string& preload, const std::vector<std::string>& needed);

}  // namespace optile::cli
