// Several threads of one process that are inside ops at the same moment share its cores: each gets
// a fair part, together no more than the cores that the daemon grants, but everybody at least one
// thread. Threads that take turns, and are never inside ops together, keep their full widths.
//
// One word holds who is inside an op and how many threads all of them were given; beside it lies a
// sum of times, by which an op knows how many others were inside with it, on average. Entering and
// leaving is two atomic operations each, without locks or system calls, and none before a second
// thread issues ops. Called by op boundaries on the issuing thread; a thread that ends inside an op
// is taken out by whoever clears its slot.
#pragma once

#include <stdint.h>

namespace optile::preload {

// Threads that can be told apart in the word.
inline constexpr uint32_t kMostIssuing = 48;
// A thread that was given little takes more again after so many ops in a row that could have had it
// (a libgomp team that changes its size is built anew).
inline constexpr uint32_t kPatience = 4;

// One other thread inside, always.
inline constexpr uint32_t kOneOther = 256;

// What one issuing thread knows of its co-runners. Written by that thread; `held` also by who takes
// a dead one out.
struct IssuerPart {
  uint64_t held = 0;        // what this thread added to the word; 0 = it is not inside
  uint64_t entered = 0;     // the open op: when it began
  uint64_t spent = 0;       // and how long all threads had been inside ops until then
  bool joins = false;       // and whether others were inside
  uint32_t sharers = 1;     // that its part is made for, itself included
  uint32_t co_runners = 0;  // others inside with its ops: a fading mean, times kOneOther
  uint32_t limit = 0;       // the widest that it takes now; 0 = none yet
  uint32_t spare = 0;       // ops in a row that could have had more
};

// ---- pure --------------------------------------------------------------------------------------

// The part of one of `sharers` that `before` others come before: cores that are left over go to the
// first ones. At least 1.
uint32_t fair_part(uint32_t cores, uint32_t sharers, uint32_t before);
// An op ended; so many others were inside with it, on average, times kOneOther.
void note_co_runners(IssuerPart* part, uint32_t others);
// How wide an op may be, when `available` threads are its fair part and free.
uint32_t settle_limit(IssuerPart* part, uint32_t available);

// ---- the process -------------------------------------------------------------------------------

// An op of the thread in `slot` begins, at `now` of any clock that all threads read, and wants
// `width` threads (0 = not known). Returns what it is to run with: less where `cores` (0 = not
// shared, or not to be narrowed) are not enough.
uint32_t enter_op(uint32_t slot, IssuerPart* part, uint32_t width, uint32_t cores, uint64_t now);
// It ended. True when another thread was inside an op at some moment of it.
bool leave_op(uint32_t slot, IssuerPart* part, uint64_t now);
// The thread of this slot ended, or is known to have: as leave_op(), and harmless when it is not
// inside.
void forget_issuer(uint32_t slot, IssuerPart* part);

// Threads that have issued ops so far. Asked several times in each op, hence in the open.
extern uint32_t issuing_ever;  // NOLINT(bugprone-dynamic-static-initializers): 0 from the start
inline uint32_t issuing_threads_so_far() {
  return __atomic_load_n(&issuing_ever, __ATOMIC_RELAXED);
}
// True once a second thread has issued ops.
inline bool several_threads_issue() {
  return issuing_threads_so_far() > 1;
}

// Threads inside ops at the same moment, at most so far.
uint32_t most_in_ops();

}  // namespace optile::preload
