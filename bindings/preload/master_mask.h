// The mask of a thread that opens regions: ours while one runs, its own again as it ends. Written
// by that thread only (team_binding.h).
#pragma once

#include <sched.h>

namespace optile::preload {

struct MasterMask {
  bool is_ours = false;  // a region runs, or was left by a jump
  cpu_set_t had;
  cpu_set_t set;
};

inline bool lies_within(const cpu_set_t& units, const cpu_set_t& all) {
  cpu_set_t both;
  CPU_AND(&both, &units, &all);
  return CPU_EQUAL(&both, &units);
}

}  // namespace optile::preload
