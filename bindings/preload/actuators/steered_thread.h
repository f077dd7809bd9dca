// What the actuators know of a thread whose ops get widths: what is in force on it, and what is to
// be put back. Used by that thread only, but for what give_pool_back() and forget_issuer() take of
// one that has ended.
#pragma once

#include <stdint.h>

#include "bindings/preload/actuators/issuer_share.h"

namespace optile::preload {

struct SteeredThread {
  uint32_t slot = 0;
  void* steers = nullptr;         // what the op that begins is to steer; null: what is chosen
  const void* steered = nullptr;  // what apply_width() set a width of, opaque
  bool actuated = false;
  int default_width = 0;   // as the latest op found it
  int own_of_chosen = -1;  // the same for what is chosen, while an op steers another; -1: none does
  int own_count = 0;       // what the program reads then, to be restored; more, where a limit binds
  int effective_width = 0;
  IssuerPart part;        // of the cores that issuing threads share
  bool narrowed = false;  // to that part, in the open op
  int blas_own = 0;       // pool count to be restored; 0 = untouched
  int blas_set = 0;       // what we set it to
  int knob_own = 0;       // what a library's own count had been set to, to be restored
  int knob_set = 0;       // what we set it to; 0 = untouched
  uint64_t wait_cap = 0;  // the daemon's word that is in force for its teams
  int own_blocktime = 0;  // milliseconds, to be restored; meaningful while ours is set
  int set_blocktime = 0;
};

}  // namespace optile::preload
