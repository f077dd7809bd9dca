// Compact and spread masks for the workers of a team, through the trampoline that runs on each of
// them. Set per step, never per op. The master's own mask is never touched: threads and children
// that the program makes inherit it, and a pinned master would put them all on one core.
#pragma once

#include <stdint.h>

#include "bindings/preload/plan_reader.h"
#include "bindings/preload/runtime_resolver.h"

namespace optile::preload {

// A step begins: the binding that is in force from now on.
void adopt_binding(const PlanView& plan, int column);
uint32_t binding_in_force();

// A region is about to open: what its workers run. When no binding was ever in force these are the
// program's own function and data, unchanged.
struct Trampoline {
  void (*function)(void*) = nullptr;
  void* data = nullptr;
  const OpenmpRuntime* runtime = nullptr;
};
bool trampoline_needed();
void run_trampoline(void* trampoline);

}  // namespace optile::preload
