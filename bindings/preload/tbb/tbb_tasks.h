// Who a root task of oneTBB is. Nothing of oneTBB's headers is needed: what is read is how C++ lays
// out any object with virtual functions.
#pragma once

#include <stdint.h>

#include "bindings/abi/layout.h"

namespace optile::preload {

struct TbbTask {
  uint64_t key = 0;            // of the task's type and its object's file; the same in every run
  const char* name = "";       // of the algorithm: "parallel_for"; a literal
  const void* code = nullptr;  // what executes the task, null when unknown
  bool may_tune = false;       // what `--regions=tune` says of its object
};

// Remembered for each type. Slow once. Any thread.
TbbTask tbb_task(const void* task);

// Name and shape of an op: the algorithm, and where its code lies, as `program+0x1234`.
void describe_tbb_task(const void* source, char name[OPTILE_NAME_BYTES],
                       char shape[OPTILE_SHAPE_BYTES]);

// The algorithm that a mangled name of a task's type stands for; "tasks" for other ones. Pure.
const char* tbb_algorithm(const char* mangled);

}  // namespace optile::preload
