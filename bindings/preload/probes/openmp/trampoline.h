// What the threads of a region run in place of the program's own function: masks and counters
// around it. Where no binding was ever in force and nothing is counted they run the program's own
// function and data, unchanged.
#pragma once

#include "bindings/preload/actuators/team_binding.h"

namespace optile::preload {

struct OpCounts;

struct Trampoline {
  void* first_word = nullptr;  // the region's data's: where runtimes look for its reductions
  void (*function)(void*) = nullptr;
  void* data = nullptr;
  const OpenmpRuntime* runtime = nullptr;  // null: masks are left alone
  PrimaryThreadMask* master = nullptr;     // of the thread that opens it; never null with a runtime
  OpCounts* counts = nullptr;              // of the op around the region; null: nothing is counted
};

// On each thread of the team; `trampoline` is a Trampoline.
void run_trampoline(void* trampoline);
// The region is over.
void leave_trampoline(const Trampoline& trampoline);

}  // namespace optile::preload
