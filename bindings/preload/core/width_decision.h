// What of the plan is obeyed where an op or region begins: the vetoes of the shim, in one order,
// which docs/design/0013-guard.md explains. Any thread. In the header, since every op asks.
#pragma once

#include "bindings/preload/actuators/default_width_source.h"
#include "bindings/preload/actuators/width_actuator.h"
#include "bindings/preload/core/circuit_breaker.h"
#include "bindings/preload/core/issuing_thread.h"
#include "bindings/preload/shared_memory/plan_reader.h"
#include "bindings/preload/support/environment.h"

namespace optile::preload {

// What bounds every op; 0 = nothing. A program that computes what an untouched run does
// (--numerics as-untuned) is narrowed by its mask alone.
inline uint32_t cap_of(const PlanView& plan) {
  return environment().as_untuned ? 0 : plan.default_width_cap;
}

// The width that `decision`, the plan's word on an op or region in `column` (-1: no scheduled step
// runs), comes to. `judged` is for judged_execution(), once it has run with that; 0 = it says
// nothing of its entry.
inline WantedWidth decide_width(const PlanView& plan, const Decision& decision,
                                const IssuingThread& thread, int column, uint32_t* judged) {
  const Environment& told = environment();
  *judged = 0;
  // 1. The mode: nothing is changed.
  if (!may_steer()) return {};
  // 2. The user's number of threads, to the letter.
  if (is_fixed_by_user()) return {};
  // 3. The op or region is left alone.
  if ((decision.flags & OPTILE_ENTRY_LEAVE) != 0) return {};
  // 4. Of widths only those that are known to compute the same bits.
  if (told.as_untuned && (decision.flags & OPTILE_ENTRY_SAME_BITS) == 0) return {};
  // 5. Where every run is to have the same widths, co-runners are no reason for others.
  const bool shares = told.mode == OPTILE_MODE_TUNE && !told.as_untuned;
  WantedWidth wanted = {decision.width, cap_of(plan), shares ? plan.shared_cores : 0};
  // 6. The circuit breaker, last: only what would be obeyed is judged. The cap stays.
  if (wanted.width != 0 && column < 0 && !entry_is_obeyed(thread, decision, judged)) {
    wanted.width = 0;
  }
  return wanted;
}

}  // namespace optile::preload
