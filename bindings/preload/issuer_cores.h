// Units of its own for each of several issuing threads that share a program's cores: neighbours in
// the plan's compact order that no other of them has, for all threads of its teams. Only where the
// daemon says so; it tries whether that pays.
//
// A thread keeps its units from op to op and looks at each begin whether they still are its own.
// Where no units side by side are left its teams run on all cores, as without. System calls only
// when the units change.
#pragma once

#include <sched.h>
#include <stdint.h>

#include "bindings/preload/plan_reader.h"

namespace optile::preload {

struct IssuingThread;

// Written by the issuing thread while none of its regions is open, read by its teams.
struct IssuerCores {
  uint32_t count = 0;    // units; 0 = none are its own
  uint32_t put_off = 0;  // ops until it looks for units again
  uint32_t epoch = 0;    // of what its teams follow, as next_epoch() gave it; 0 = never had units
  uint64_t generation = 0;  // of the page whose order it is
  cpu_set_t own;            // these units
  cpu_set_t outside;        // what the issuing thread has outside its regions
};

// An op begins at `now`, its width is set: which units its teams have. Outside regions, on the
// thread.
void settle_cores(IssuingThread& thread, const Attachment& attached, const PlanView& plan,
                  uint64_t now);

}  // namespace optile::preload
