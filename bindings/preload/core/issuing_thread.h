// A thread that issues ops: its slot in the client region and what is open on it. One static object
// per slot, used by its thread only; given back when the thread ends. Slots from OPTILE_MAX_THREADS
// on have no ring: such threads are steered, but nothing is recorded of them.
#pragma once

#include <stdint.h>

#include "bindings/preload/actuators/issuer_share.h"
#include "bindings/preload/actuators/primary_thread_mask.h"
#include "bindings/preload/actuators/steered_thread.h"
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

// The width of an op that its probe has seen to before it begins, as with a region of the program's
// own: nothing is set for it here.
struct PresetWidth {
  int width = 0;             // 0 = nobody touches it
  int own = 0;               // the program's
  bool expected = false;     // its width could be set before it began
  uint32_t judged = 0;       // circuit_breaker.h
  uint64_t tuning = 0;       // optile_region_tuning, for the op's record; 0 = no word
  uint64_t* told = nullptr;  // what was told of it last; null: nobody keeps that
};

struct IssuingThread : SteeredThread {
  uint32_t tid = 0;
  // The open outermost op.
  uint32_t depth = 0;               // ops open on this thread
  const void* outermost = nullptr;  // storage of the outermost op, where a jump may leave it open
  bool awaits_runtime = false;      // nothing is steered yet: the next region in the op decides
  const void* waits_for = nullptr;  // what it waits for by its probe's word, opaque
  bool is_shown = false;            // in the thread's slot, since it may hang
  PresetWidth preset;               // of the op that begins next, where it is such a one
  // What a probe left in force for an op that it expects; called once, where another one begins.
  void (*withdraw)(IssuingThread& thread) = nullptr;
  int previous_width = 0;  // of the op before: a change costs
  PrimaryThreadMask master;
  uint32_t regions_alone = 0;  // outside any op, so far
  uint64_t region_ticks = 0;
  uint32_t regions = 0;
  uint32_t region_threads = 0;  // the most that a region of the open op asked for in so many words
  bool times_regions = false;   // their time is wanted: the op's event is recorded
  uint32_t region_depth = 0;    // regions open on this thread as their master
  // The step.
  uint64_t context = 1;
  uint64_t step_begin = 0;  // 0 = no step begun on this thread
  uint64_t step_generation = 0;
  int step_column = -1;
  bool step_unheard = false;  // of the step that runs only its time is told
  uint64_t observed = 0;
  uint32_t composites = 0;  // open ones that are looked through
  uint64_t composite_begin = 0;
  uint64_t observed_before_composite = 0;
  uint64_t row_end = 0;  // end of the latest composite of a row; 0 = something else came since
  uint64_t steerable = 0;
  uint64_t overlapped = 0;  // inside ops while other threads were
  uint32_t ops = 0;
  uint32_t width_changes = 0;
  uint64_t met[OPTILE_MAX_OPS / 64] = {};  // ops that this thread has run before
  OpCounts counts;
  uint32_t nested_open = 0;
  NestedOp nested[kMaxNested];
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
// One that stands for all threads of a framework's executor, which hand ops from one to another:
// claimed once, for as long as the process; null when every slot is taken. Whoever uses it sees to
// it that nobody else does meanwhile.
IssuingThread* claim_shared_issuer();
// The calling thread issues as `thread` from now on. Returns as whom it did before, null = nobody
// yet, to be put back by a second call.
IssuingThread* issue_as(IssuingThread* thread);

// True the first time that this thread meets the op.
bool meets_first(IssuingThread& thread, uint32_t op_id);

}  // namespace optile::preload
