// Resting: while no op has a width of its own, a probe that costs something per op listens to a few
// steps out of many, so that the price of being watched is paid for those only. Steps that pass
// meanwhile are counted by the framework's landmarks. One width for all ops, as a cap, is left in
// place meanwhile; not where regions of the program's own were seen, which may size by the count,
// or a framework that compiles anew where the count is another one.
//
// Used from the one thread that issues ops; with several of them nothing ever rests. A thread that
// takes over from one that rests ends the rest once it has lasted for too long.
#pragma once

#include <stdint.h>

#include "bindings/preload/core/issuing_thread.h"
#include "bindings/preload/shared_memory/plan_reader.h"

namespace optile::preload {

inline constexpr uint32_t kListenedSteps = 2;  // whole steps between two rests
inline constexpr uint32_t kRestedSteps = 62;   // a rest is over after so many at the latest
inline constexpr uint64_t kLongestRestNs = 10'000'000'000;

// What the probe API hands on; see probe.h.
void offer_rest(void (*listen)(int on));
void landmark();

// A step begins under this plan. True when the probe rests from here on: this step's end will not
// be seen.
bool rest_from_step(IssuingThread& thread, const Attachment& attached, const PlanView& plan,
                    uint64_t now);

// The op of `thread` at which a rest began is over: from here on nothing is heard.
void rest_begins(const IssuingThread& thread);
// An op begins on this thread: where its rest was ended by another one, it still has the cap.
void settle_after_rest(const IssuingThread& thread);

// A region outside any op, or a framework that looks at the count between ops: from now on nothing
// rests under a cap.
void note_own_region();
void note_count_is_read();

// The probe rests: what it does not report nobody else may report in its place.
bool rests_now();

// Ends a rest that lasted too long, whoever rests; cheap when nothing does. Any thread. Where
// regions begin, in case that landmarks stay away.
void end_overdue_rest();

}  // namespace optile::preload
