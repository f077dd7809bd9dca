// The one thing that the shim decides by itself: it stops obeying a plan entry under which its op
// is more than 5 % slower than at the program's default width, beyond what the plan knowingly
// accepts for the sake of its neighbours. The daemon may be stopped, or wrong.
//
// An entry is watched in windows of executions. When nearly all of a window are slower than the
// baseline that came with the entry, the next ones take turns: one at the program's default width,
// one under the entry. Only what loses nearly all of these pairs, here and now, is condemned. A
// machine that became slow for both sets a new baseline instead, and the next look comes later.
// Entries without a baseline, scheduled steps and the freeze mode are not judged.
//
// The judgement of an entry belongs to the issuing thread that met it first; others only read its
// stage. Nothing is allocated.
#pragma once

#include <stdint.h>

#include "bindings/preload/core/issuing_thread.h"
#include "bindings/preload/shared_memory/attachment.h"
#include "bindings/preload/shared_memory/plan_reader.h"

namespace optile::preload {

enum class EntryStage : uint32_t { kObeyed = 0, kTrying = 1, kDisabled = 2 };

// What is known of one entry. All zeroes: nothing yet.
struct EntryRecord {
  uint64_t key;
  uint64_t context;
  uint64_t baseline;    // ticks of an execution at the program's default width
  uint64_t own_ticks;   // while trying: of the latest execution at the program's default width
  uint64_t own_sum;     // and of all
  uint64_t sum;         // and of those under the entry
  uint64_t entry_mean;  // when it was tried last
  uint32_t width;
  uint32_t stage;  // EntryStage
  uint32_t judge;  // slot of the issuing thread, plus 1; 0 = free
  uint32_t calls;  // in the present window
  uint32_t slow;   // of them
  uint32_t window;
  uint64_t accepted_loss;  // thousandths
};

// While trying: whether the next execution is one at the program's default width. Pure.
bool default_width_is_next(const EntryRecord& record);
// One execution that took `ticks`. True when it condemned the entry. Pure.
bool judge_execution(EntryRecord* record, uint64_t ticks);

// Whether the entry behind `decision` is to be obeyed now. `judged` becomes the place to pass to
// judged_execution(), 0 when this execution says nothing.
bool entry_is_obeyed(const IssuingThread& thread, const Decision& decision, uint32_t* judged);
// The execution has ended.
void judged_execution(const Attachment& attached, uint32_t judged, uint64_t ticks,
                      uint32_t generation_low);

}  // namespace optile::preload
