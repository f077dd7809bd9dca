// Libraries whose own work is to say how many threads a program uses and where they run: DLB,
// likwid-pin, Intel's Thread Composability Manager. Pure, any thread.
#pragma once

#include <string.h>

namespace optile::base {

// `name`: a file's, without its folder.
inline bool is_other_manager(const char* name) {
  for (const char* manager : {"libdlb", "liblikwidpin", "libtcm."}) {
    if (strncmp(name, manager, strlen(manager)) == 0) return true;
  }
  return false;
}

}  // namespace optile::base
