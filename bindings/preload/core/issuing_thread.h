// A thread that issues ops: its slot in the client region and what is open on it. One static object
// per slot, used by its thread only; given back when the thread ends. Slots from OPTILE_MAX_THREADS
// on have no ring: such threads are steered, but nothing is recorded of them.
#pragma once

#include <stdint.h>

#include "bindings/preload/actuators/issuer_share.h"
#include "bindings/preload/actuators/primary_thread_mask.h"
#include "bindings/preload/core/probe.h"

namespace optile::preload {

inline constexpr int kMaxNested = 48;  // deeper nested ops are accounted to their parent

struct NestedOp {
  uint32_t op_id = 0;
  uint64_t begin = 0;
  uint64_t children = 0;
};

// What is counted in the op that is open on a thread. The thread's own part is counted from begin
// to end; workers add what they count in their parts of its regions, from their own threads.
struct OpCounts {
  uint32_t on = 0;
  uint32_t spoilt = 0;   // something was opened inside, or could not be read: not to be told
  uint32_t threads = 0;  // that were counted
  uint32_t serial = 0;   // of the op, so that a worker counts itself once
  uint32_t group = 0;
  uint64_t begin[OPTILE_GROUP_EVENTS] = {};
  uint64_t workers[OPTILE_GROUP_EVENTS] = {};
};

struct KnownRegion;

// The widths of the program's own regions, where those are tuned (regions/region_width.h).
struct RegionWidths {
  bool remembers = false;         // which region follows which, of this thread
  int own = 0;                    // the program's count, as last found; 0 = not known
  int set = 0;                    // ours, in force until the next region ends; 0 = the program's is
  const void* runtime = nullptr;  // whose count `set` is, opaque
  KnownRegion* next = nullptr;    // for whom; null: nobody is expected
  uint64_t next_context = 0;
  uint32_t next_judged = 0;
  // The open region.
  KnownRegion* open = nullptr;
  int width = 0;          // 0 = it is not tuned
  bool expected = false;  // its width could be set before it began
  uint32_t open_judged = 0;
  bool shown = false;  // in the thread's slot, since it may hang
};

// A primitive of a oneDNN that speaks ITT (itt/primitive_tasks.h).
struct OpenPrimitive {
  const void* domain = nullptr;   // null: none is open
  const char* kind = nullptr;     // while its info is awaited
  bool awaits_info = false;       // what it is comes next: no op yet
  uint32_t depth = 0;             // of the thread, with this one in it; 0: it is the outermost
  const void* left_by = nullptr;  // as the outermost's storage: further up, it has been left
  optile_open_op op = {};
};

struct IssuingThread {
  uint32_t slot = 0;
  uint32_t tid = 0;
  // The open outermost op.
  uint32_t depth = 0;                 // ops open on this thread
  const void* outermost = nullptr;    // storage of the outermost op, where a jump may leave it open
  bool awaits_runtime = false;        // nothing is steered yet: the next region in the op decides
  const void* tbb_context = nullptr;  // the group of tasks that it waits for, where oneTBB's
  void* steers = nullptr;             // what the op that begins is to steer; null: what is chosen
  const void* steered = nullptr;      // what apply_width() set a width of, opaque
  bool actuated = false;
  int own_width = 0;       // as the latest op found it
  int own_of_chosen = -1;  // the same for what is chosen, while an op steers another; -1: none does
  int own_count = 0;       // what the program reads then, to be restored; more, where a limit binds
  int effective_width = 0;
  int previous_width = 0;  // of the op before: a change costs
  IssuerPart part;         // of the cores that issuing threads share
  bool narrowed = false;   // to that part, in the open op
  PrimaryThreadMask master;
  int blas_own = 0;            // pool count to be restored; 0 = untouched
  int blas_set = 0;            // what we set it to
  int knob_own = 0;            // what a library's own count had been set to, to be restored
  int knob_set = 0;            // what we set it to; 0 = untouched
  uint32_t regions_alone = 0;  // outside any op, so far
  uint64_t wait_cap = 0;       // the daemon's word that is in force for its teams
  int own_blocktime = 0;       // milliseconds, to be restored; meaningful while ours is set
  int set_blocktime = 0;
  uint64_t region_ticks = 0;
  uint32_t regions = 0;
  uint32_t region_threads = 0;  // the most that a region of the open op asked for in so many words
  RegionWidths region_widths;
  bool times_regions = false;  // their time is wanted: the op's event is recorded
  uint32_t region_depth = 0;   // regions open on this thread as their master
  // The step.
  uint64_t context = 1;
  uint64_t step_begin = 0;  // 0 = no step begun on this thread
  uint64_t step_generation = 0;
  int step_column = -1;
  uint64_t observed = 0;
  uint32_t composites = 0;  // open ones that are looked through
  uint64_t composite_begin = 0;
  uint64_t observed_before_composite = 0;
  uint64_t row_end = 0;  // end of the latest composite of a row; 0 = something else came since
  uint64_t steerable = 0;
  uint64_t in_company = 0;  // inside ops while other threads were
  uint32_t ops = 0;
  uint32_t width_changes = 0;
  uint64_t met[OPTILE_MAX_OPS / 64] = {};  // ops that this thread has run before
  OpCounts counts;
  uint32_t nested_open = 0;
  NestedOp nested[kMaxNested];
  OpenPrimitive primitive;
};

// Of the calling thread; null when kMostIssuing issue ops already, or inside the shim itself.
IssuingThread* issuing_thread();
// The same without claiming a slot: null for a thread that never issued an op. Asked several times
// in each op and region, hence in the open.
// NOLINTNEXTLINE(bugprone-dynamic-static-initializers): null from the start
extern constinit thread_local IssuingThread* issuing_here;
inline IssuingThread* known_issuing_thread() {
  return issuing_here;
}
// True the first time that this thread meets the op.
bool meets_first(IssuingThread& thread, uint32_t op_id);
// Threads that have issued ops so far. Asked several times in each op, hence in the open.
extern uint32_t claimed_ever;  // NOLINT(bugprone-dynamic-static-initializers): 0 from the start
inline uint32_t issuing_threads_so_far() {
  return __atomic_load_n(&claimed_ever, __ATOMIC_RELAXED);
}
// True once a second thread has issued ops.
inline bool several_threads_issue() {
  return issuing_threads_so_far() > 1;
}

}  // namespace optile::preload
