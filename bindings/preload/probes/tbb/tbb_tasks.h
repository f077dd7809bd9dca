// Who a root task of oneTBB is, or the place in a program that waits for others. Nothing of
// oneTBB's headers is needed: what is read is how C++ lays out any object with virtual functions.
#pragma once

#include <stdint.h>

#include "bindings/abi/layout.h"

namespace optile::preload {

struct TbbTask {
  uint64_t key = 0;            // of the task's type and its object's file; the same in every run
  const char* name = "";       // of the algorithm: "parallel_for"; a literal
  const void* code = nullptr;  // what executes the task, or waits for it; null when unknown
  bool may_tune = false;       // what `--regions=tune` says of its object
  int arena = 0;               // threads that its arena has room for; 0 = as usual
};

// Remembered for each type. Slow once. Any thread.
TbbTask tbb_task(const void* task);

// A call at `caller` that waits for work of which nothing more is known. Remembered for each place.
TbbTask tbb_wait(const void* caller);
TbbTask tbb_pipeline(const void* caller);

// In an arena of that size the same work is another op, with a curve of its own; 0 changes nothing.
void put_into_arena(TbbTask* task, int size);

// Name and shape of an op: the algorithm, and where its code lies, as `program+0x1234`, and the
// arena's size where it is an unusual one.
void describe_tbb_task(const void* source, char name[OPTILE_NAME_BYTES],
                       char shape[OPTILE_SHAPE_BYTES]);

// The algorithm that a mangled name of a task's type stands for; "tasks" for other ones. Pure.
const char* tbb_algorithm(const char* mangled);

}  // namespace optile::preload
