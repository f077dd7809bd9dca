// An arena over a thread pool of the program (oneTBB's word): what is scheduled into it runs on the
// pool's own threads, at most `width` of them at once, the rest waits in the arena's queue. To its
// users it is a pool of `width` threads: that is how many it says it has, and the number that each
// running task is told lies below it. An arena of one runs its tasks on the thread that schedules
// them: for a single worker on another thread that one would only wait.
//
// Made without the framework's headers: Eigen::ThreadPoolInterface by its table of virtual
// functions, and libstdc++'s std::function by its layout, which is a part of that library's binary
// interface. fits_pool() compares a pool with what is assumed of it.
#pragma once

#include <stdint.h>

#include "bindings/preload/support/progress_lock.h"

namespace optile::preload {

// std::function<void()>: what it holds, and the two functions that know it.
struct PoolTask {
  void* held[2];
  bool (*manage)(void* to, const void* from, int operation);
  void (*run)(void* held);
};

// Whether the virtual functions of `pool`, an Eigen::ThreadPoolInterface of the program, are in the
// places that are assumed here, by their names. Slow; asks the linker.
bool fits_pool(const void* pool);

class PoolArena {
 public:
  static constexpr int kWidest = 255;
  static constexpr uint32_t kMostWaiting = 512;  // beyond that whoever schedules a task runs it

  // Once, before any other. `pool`: for as long as the process, and it fits.
  void open(void* pool, int width);
  // What stands for it where an Eigen::ThreadPoolInterface is wanted.
  void* as_pool() { return &table_; }
  int width() const { return width_; }

 private:
  friend struct ArenaFunctions;

  struct Worker;

  void schedule(PoolTask* task);
  void work();
  bool add(PoolTask* task, bool* begins);
  bool take(PoolTask* task, int slot);
  int take_slot();

  const void* const* table_ = nullptr;  // first, as in any object with virtual functions
  void* pool_ = nullptr;
  int width_ = 0;
  ProgressLock lock_;
  uint64_t slots_[4] = {};  // taken by workers, a bit each
  int workers_ = 0;
  uint32_t first_ = 0, waiting_ = 0;
  PoolTask queue_[kMostWaiting] = {};
};

}  // namespace optile::preload
