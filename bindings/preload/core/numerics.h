// What a program may be told by a plan that has to compute what an untouched run does
// (--numerics as-untuned): neither a lease nor a co-runner narrows it, and of widths only those of
// ops that are known to compute the same at each. Any thread.
#pragma once

#include "bindings/preload/shared_memory/plan_reader.h"
#include "bindings/preload/support/environment.h"

namespace optile::preload {

// Whether the entry may be obeyed.
inline bool keeps_bits(const Decision& decision) {
  return !environment().as_untuned || (decision.flags & OPTILE_ENTRY_SAME_BITS) != 0;
}

// What bounds every op; 0 = nothing.
inline uint32_t cap_of(const PlanView& plan) {
  return environment().as_untuned ? 0 : plan.default_width_cap;
}

}  // namespace optile::preload
