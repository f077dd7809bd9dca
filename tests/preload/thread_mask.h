// Where the calling thread may run.
#pragma once

#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <vector>

#include "tests/preload/check_or_exit.h"

namespace optile::preload {

using Mask = std::vector<int>;  // units, ascending

// No region: one would make the test's process attach before the test wants it.
inline Mask own_mask() {
  cpu_set_t mask;
  sched_getaffinity(0, sizeof mask, &mask);
  Mask units;
  for (unsigned unit = 0; unit < CPU_SETSIZE; ++unit) {
    if (CPU_ISSET(unit, &mask)) units.push_back(static_cast<int>(unit));
  }
  return units;
}

// As the daemon moves a program with a lease from outside: all of its threads that it has not
// placed.
inline void move_this_thread(const Mask& units) {
  cpu_set_t mask;
  CPU_ZERO(&mask);
  for (const int unit : units) CPU_SET(static_cast<unsigned>(unit), &mask);
  CHECK_OR_EXIT(syscall(SYS_sched_setaffinity, 0, sizeof mask, &mask) == 0);
}

}  // namespace optile::preload
