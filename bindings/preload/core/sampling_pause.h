// Pauses of sampling: while no op has a width of its own, a probe that costs something per op
// reports a few steps out of many, so that the price of being watched is paid for those only. Steps
// that pass meanwhile are counted by the framework's landmarks. One width for all ops, as a cap, is
// left in place meanwhile; not where regions of the program's own were seen, which may size by the
// count, or a framework that compiles anew where the count is another one.
//
// Used from the one thread that issues ops; with several of them sampling never pauses. A thread
// that takes over from one that paused it ends the pause once it has lasted for too long.
#pragma once

#include <stdint.h>

#include "bindings/preload/core/issuing_thread.h"
#include "bindings/preload/shared_memory/plan_reader.h"

namespace optile::preload {

inline constexpr uint32_t kSampledSteps = 2;     // whole steps between two pauses
inline constexpr uint32_t kUnsampledSteps = 62;  // a pause is over after so many at the latest
inline constexpr uint64_t kLongestPauseNs = 10'000'000'000;

// What the probe API hands on; see probe.h.
void offer_sampling_pause(void (*set_sampling)(int on));
void landmark();

// A step begins under this plan. True when sampling is paused from here on: this step's end will
// not be seen.
bool pause_sampling_from_step(IssuingThread& thread, const Attachment& attached,
                              const PlanView& plan, uint64_t now);

// The op of `thread` at which a pause began is over: from here on nothing is reported.
void on_sampling_paused(const IssuingThread& thread);
// An op begins on this thread: where its pause was ended by another one, it still has the cap.
void restore_after_sampling_pause(const IssuingThread& thread);

// A region outside any op, or a framework that looks at the count between ops: from now on there is
// no pause under a cap.
void note_own_region();
void note_count_is_read();

// What the probe does not report nobody else may report in its place.
bool is_sampling_paused();

// Ends a pause that lasted too long, on whatever thread; cheap when there is none. Any thread.
// Where regions begin, in case that landmarks stay away.
void end_overdue_sampling_pause();

}  // namespace optile::preload
