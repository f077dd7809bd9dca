#include "bindings/preload/probes/tensorflow/pool_arena.h"

#include <dlfcn.h>
#include <string.h>

#include "bindings/preload/support/run_with_cleanup.h"

namespace optile::preload {
namespace {

// In the order of Eigen's declarations, the same since 2018.
constexpr const char* kPoolFunctions[] = {"8Schedule", "16ScheduleWithHint", "6Cancel",
                                          "10NumThreads", "15CurrentThreadId"};
constexpr int kFunctions = 5;
enum PoolFunction { kSchedule, kScheduleWithHint, kCancel, kNumThreads, kCurrentThreadId };

// What a running task is told: which worker of which arena it runs on, by the arena's width above
// and one more than the worker's slot below; 0 = on none. In two bytes, since there are few.
thread_local uint16_t here = 0;

uint16_t worker_of(int width, int slot) {
  return static_cast<uint16_t>(static_cast<uint32_t>(width) << 8 | static_cast<uint32_t>(slot + 1));
}

const void* const* table_of(const void* object) {
  return *static_cast<const void* const* const*>(object);
}

// A clone holds what the original does; nothing is to be destroyed.
bool manage_worker(void* to, const void* from, int operation) {
  constexpr int kGetHeld = 1, kClone = 2;
  if (operation == kClone) memcpy(to, from, sizeof PoolTask::held);
  if (operation == kGetHeld) memcpy(to, &from, sizeof from);
  return false;
}

void destroy(PoolTask* task) {
  constexpr int kDestroy = 3;
  if (task->manage != nullptr) task->manage(task->held, task->held, kDestroy);
}

}  // namespace

// The virtual functions, as the pool's users call them: the object first; a function by value is
// handed over by its address, and stays the caller's to destroy.
struct ArenaFunctions {
  static void schedule(PoolArena* arena, PoolTask* task) { arena->schedule(task); }
  static void schedule_with_hint(PoolArena* arena, PoolTask* task, int /*first*/, int /*limit*/) {
    arena->schedule(task);
  }
  static void cancel(PoolArena* /*arena*/) {}
  static int num_threads(const PoolArena* arena) { return arena->width_; }
  static int current_thread_id(const PoolArena* arena) {
    return here >> 8 == arena->width_ ? (here & 0xff) - 1 : -1;
  }
  static void destroy(PoolArena* /*arena*/) {}
  static void work(void* held) {
    void* arena = nullptr;
    memcpy(&arena, held, sizeof arena);
    static_cast<PoolArena*>(arena)->work();
  }
};

namespace {

template <typename Function>
const void* address_of(Function* function) {
  return reinterpret_cast<const void*>(function);
}

// Offset and type, as in the tables that a compiler writes, then the functions.
const void* const kTable[] = {nullptr,
                              nullptr,
                              address_of(&ArenaFunctions::schedule),
                              address_of(&ArenaFunctions::schedule_with_hint),
                              address_of(&ArenaFunctions::cancel),
                              address_of(&ArenaFunctions::num_threads),
                              address_of(&ArenaFunctions::current_thread_id),
                              address_of(&ArenaFunctions::destroy),
                              address_of(&ArenaFunctions::destroy)};

void schedule_into(void* pool, PoolTask* task) {
  const void* function = table_of(pool)[kSchedule];
  void (*schedule)(void*, PoolTask*) = nullptr;
  memcpy(&schedule, &function, sizeof schedule);
  schedule(pool, task);
}

}  // namespace

bool fits_pool(const void* pool) {
  if (pool == nullptr) return false;
  const void* const* table = table_of(pool);
  for (int i = 0; i < kFunctions; ++i) {
    Dl_info function = {};
    if (dladdr(table[i], &function) == 0 || function.dli_sname == nullptr ||
        function.dli_saddr != table[i] ||
        strstr(function.dli_sname, kPoolFunctions[i]) == nullptr) {
      return false;
    }
  }
  return true;
}

void PoolArena::open(void* pool, int width) {
  pool_ = pool;
  width_ = width;
  table_ = kTable + 2;
}

// The task is moved out of `task`, which then holds nothing.
bool PoolArena::add(PoolTask* task, bool* begins) {
  if (!lock_.acquire()) return false;
  const bool fits = waiting_ < kMostWaiting;
  if (fits) {
    queue_[(first_ + waiting_++) % kMostWaiting] = *task;
    *task = {};
    *begins = workers_ < width_;
    if (*begins) ++workers_;
  }
  lock_.release();
  return fits;
}

void PoolArena::schedule(PoolTask* task) {
  bool begins = false;
  // As Eigen's own pool does where its queue is full.
  if (!add(task, &begins)) {
    task->run(task->held);
    return;
  }
  if (!begins) return;
  if (width_ == 1) {
    work();
    return;
  }
  PoolTask worker = {{this, nullptr}, manage_worker, ArenaFunctions::work};
  schedule_into(pool_, &worker);
}

// False: nothing waits, and the worker is none any more.
bool PoolArena::take(PoolTask* task, int slot) {
  while (!lock_.acquire()) {
  }
  const bool found = waiting_ > 0;
  if (found) {
    *task = queue_[first_];
    first_ = (first_ + 1) % kMostWaiting;
    --waiting_;
  } else {
    --workers_;
    if (slot >= 0) slots_[slot / 64] &= ~(UINT64_C(1) << (slot % 64));
  }
  lock_.release();
  return found;
}

int PoolArena::take_slot() {
  int slot = -1;
  while (!lock_.acquire()) {
  }
  for (int i = 0; i < width_ && slot < 0; ++i) {
    uint64_t& word = slots_[i / 64];
    const uint64_t bit = UINT64_C(1) << (i % 64);
    if ((word & bit) == 0) {
      word |= bit;
      slot = i;
    }
  }
  lock_.release();
  return slot;
}

struct PoolArena::Worker {
  PoolArena* arena;
  int slot;
  uint16_t before;  // what the thread was
  PoolTask task;

  static void run(void* what) {
    auto* worker = static_cast<Worker*>(what);
    while (worker->arena->take(&worker->task, worker->slot)) {
      worker->task.run(worker->task.held);
      destroy(&worker->task);
    }
    here = worker->before;
  }
  // An exception leaves a task. What the task had scheduled is for nobody any more: who would have
  // waited for it is left as well.
  static void leave(void* what) {
    auto* worker = static_cast<Worker*>(what);
    do {
      destroy(&worker->task);
    } while (worker->arena->take(&worker->task, worker->slot));
    here = worker->before;
  }
};

// On a thread of the pool, perhaps inside a task of another arena that waits.
void PoolArena::work() {
  const int slot = take_slot();
  Worker worker = {this, slot, here, {}};
  here = worker_of(width_, slot);
  run_with_cleanup(Worker::run, &worker, Worker::leave);
}

}  // namespace optile::preload
