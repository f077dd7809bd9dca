// Masks for the threads of a team, each of which comes by before its part of a region. Compact and
// spread: thread i goes to the i-th processing unit of the plan's order. The order changes with
// steps and plans, never with ops.
//
// A worker that its program has put somewhere is left there. The others keep their mask between
// regions. The thread that opens a region has ours only while the region runs: whatever it makes
// outside (threads of other pools, children) inherits the mask that it has then, and would end up
// on one core.
#pragma once

#include <stdint.h>

#include "bindings/preload/actuators/primary_thread_mask.h"
#include "bindings/preload/runtimes/runtime_resolver.h"
#include "bindings/preload/shared_memory/plan_reader.h"

namespace optile::preload {

// A step begins: the binding that is in force from now on. On the one issuing thread, outside
// regions; with a second one there is no binding any more.
void adopt_binding(const PlanView& plan, int column, const PrimaryThreadMask& master);
uint32_t binding_in_force();

// Whether a binding was ever in force: one load, before regions.
bool teams_were_bound();
// A region opens on a thread that has our mask: what its runtime makes for it comes with that one,
// and nobody has put it there.
void masks_may_be_inherited();
// On each thread of a team of `runtime`, before its part of a region. `master`: of the thread that
// opened it.
void follow_binding(const OpenmpRuntime& runtime, PrimaryThreadMask* master);
// The region is over: the thread that opened it gets its own mask back, unless somebody has moved
// it meanwhile.
void put_mask_back(PrimaryThreadMask* master);

}  // namespace optile::preload
