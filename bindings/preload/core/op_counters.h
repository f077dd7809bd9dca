// Counters around ops, while a plan page asks for them: the issuing thread from an op's begin to
// its end, and every OpenMP worker during its parts of the op's regions, through the trampoline.
// What reads them is a library of its own (counters/), opened when a page first asks; this only
// keeps the books. Whatever fails means fewer counts, and that is told.
//
// Steps take turns in the groups of events: the group of a step is its number modulo the groups.
#pragma once

#include <stdint.h>

#include "bindings/preload/core/issuing_thread.h"
#include "bindings/preload/shared_memory/attachment.h"
#include "bindings/preload/shared_memory/plan_reader.h"

namespace optile::preload {

// Steps that one plan page gets, however long it stays in force: a daemon that is gone cannot take
// back what it asked for.
inline constexpr uint32_t kMostCountedSteps = 64;
// Steps after the last counted one in which workers still come by to close what they opened.
inline constexpr uint32_t kClosingSteps = 16;

// A step begins, between ops. Opens what is missing, here and not inside an op.
void adopt_counting(const Attachment& attached, const PlanView& plan, uint32_t step);

// Ops and regions have something to do for counters: one load.
bool counters_in_use();

// The outermost op of this thread begins, or ends. True: `counts` holds an event for it.
void begin_counts(IssuingThread& thread);
bool end_counts(IssuingThread& thread, optile_event* counts);

// On each thread of a team, around its part of a region. False: this part is not counted.
bool begin_part(OpCounts& op, uint64_t (&begin)[OPTILE_GROUP_EVENTS]);
void end_part(OpCounts& op, const uint64_t (&begin)[OPTILE_GROUP_EVENTS]);

}  // namespace optile::preload
