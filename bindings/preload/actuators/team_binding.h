// Masks for the threads of a team, through the trampoline that runs on each of them. Compact and
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
#include "bindings/preload/core/plan_reader.h"
#include "bindings/preload/runtimes/runtime_resolver.h"

namespace optile::preload {

struct OpCounts;

// A step begins: the binding that is in force from now on. On the one issuing thread, outside
// regions; with a second one there is no binding any more.
void adopt_binding(const PlanView& plan, int column, const PrimaryThreadMask& master);
uint32_t binding_in_force();

// A region is about to open: what its threads run. When no binding was ever in force and nothing is
// counted these are the program's own function and data, unchanged.
struct Trampoline {
  void* first_word = nullptr;  // the region's data's: where runtimes look for its reductions
  void (*function)(void*) = nullptr;
  void* data = nullptr;
  const OpenmpRuntime* runtime = nullptr;  // null: masks are left alone
  PrimaryThreadMask* master = nullptr;     // of the thread that opens it; never null with a runtime
  OpCounts* counts = nullptr;              // of the op around the region; null: nothing is counted
};
bool trampoline_needed();
// A region opens on a thread that has our mask: what its runtime makes for it comes with that one,
// and nobody has put it there.
void masks_may_be_inherited();
void run_trampoline(void* trampoline);

// The region is over: the thread that opened it gets its own mask back, unless somebody has moved
// it meanwhile.
void leave_trampoline(const Trampoline& trampoline);

}  // namespace optile::preload
