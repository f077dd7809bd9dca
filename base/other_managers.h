// Libraries whose own work is to say how many threads a program uses and where they run: DLB,
// likwid-pin, Intel's Thread Composability Manager. Pure, any thread.
#pragma once

#include <string.h>

namespace optile::base {

inline constexpr const char* kOtherManagers[] = {"libdlb", "liblikwidpin", "libtcm."};

// `name`: a file's, without its folder.
inline bool is_other_manager(const char* name) {
  for (const char* manager : kOtherManagers) {
    if (strncmp(name, manager, strlen(manager)) == 0) return true;
  }
  return false;
}

}  // namespace optile::base
