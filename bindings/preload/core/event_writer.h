// Writes into the client region: events into the thread's ring, running totals into its aggregates.
// Only the thread itself writes to its slot. Ring full: dropped and counted, never waited for.
#pragma once

#include "bindings/preload/core/issuing_thread.h"
#include "bindings/preload/shared_memory/attachment.h"

namespace optile::preload {

struct StepTotals {
  uint64_t begin = 0;
  uint64_t ticks = 0;
  uint64_t generation = 0;
  int column = -1;
  bool mixed = false;
  bool unheard = false;  // no op of it was told of
};

// `counts` (or null) is written directly before the op, or not at all.
void write_op(const Attachment& attached, IssuingThread& thread, optile_event event, bool record,
              const optile_event* counts = nullptr);
// A region begins at a width of ours, or the latest such one has ended. Only of threads with a slot
// in the region: nobody would see that others hang.
bool may_show_open(const IssuingThread& thread);
void show_open(const Attachment& attached, const IssuingThread& thread, uint64_t key, int width,
               uint64_t now);
void show_closed(const Attachment& attached, const IssuingThread& thread);
void write_step(const Attachment& attached, IssuingThread& thread, const StepTotals& totals);
void add_nested_time(const Attachment& attached, IssuingThread& thread, uint32_t op_id,
                     uint64_t ticks);

}  // namespace optile::preload
