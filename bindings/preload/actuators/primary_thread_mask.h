// The mask of a thread that opens regions: ours while one runs, its own again as it ends. Written
// by that thread only (team_binding.h).
#pragma once

#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace optile::preload {

struct PrimaryThreadMask {
  bool is_ours = false;  // a region runs, or was left by a jump
  cpu_set_t had;
  cpu_set_t set;
};

inline bool lies_within(const cpu_set_t& units, const cpu_set_t& all) {
  cpu_set_t both;
  CPU_AND(&both, &units, &all);
  return CPU_EQUAL(&both, &units);
}

// Of the calling thread. Not the C library's function, by which programs say where they want to be.
inline bool set_thread_mask(const cpu_set_t& units) {
  return syscall(SYS_sched_setaffinity, 0, sizeof units, &units) == 0;
}

}  // namespace optile::preload
