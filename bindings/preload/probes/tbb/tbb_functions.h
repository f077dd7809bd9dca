// The functions of oneTBB behind those that are interposed, for each object that calls them: copies
// of oneTBB in one process are normal. Asked of the linker once for each object and all together,
// by who comes first: that is the thread that waits for an algorithm, and not a worker in a piece
// of it. The linker makes a worker wait while that very thread is in a library's constructor.
#pragma once

namespace optile::preload {

// In the order of their names in tbb_functions.cc.
enum class TbbFunction {
  kExecuteAndWait,
  kWait,
  kEnqueue,
  kEnqueueInContext,
  kSpawn,
  kSpawnToSlot,
  kSubmit,
  kParallelPipeline,
  kDestroyContext,
  kActiveValue,
};
inline constexpr int kTbbFunctions = 10;

// What code in the object around `inside` means by `function`; null where no loaded object has it.
// Any thread; slow once for each object.
void* tbb_function(TbbFunction function, const void* inside);

// The table of a task's virtual functions. It lies in the object that the task's type is of, where
// an address behind a call may be of another one: a compiler makes jumps of last calls.
inline const void* table_of(const void* task) {
  return *static_cast<const void* const*>(task);
}

}  // namespace optile::preload
