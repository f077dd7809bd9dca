#include "bindings/preload/core/event_writer.h"

namespace optile::preload {
namespace {

optile_thread_slot& slot_of(const Attachment& attached, const IssuingThread& thread) {
  optile_thread_slot& slot = attached.client->threads[thread.slot];
  if (optile_load32(&slot.tid) != thread.tid) optile_store32(&slot.tid, thread.tid);
  return slot;
}

// What belongs to an event comes with it: a reader sees both or neither.
void push(const Attachment& attached, const IssuingThread& thread, const optile_event& event,
          const optile_event* before = nullptr) {
  optile_thread_slot& slot = slot_of(attached, thread);
  const uint64_t head = slot.head;  // written by this thread only
  const uint64_t tail = optile_load64(&attached.plan->tails[thread.slot]);
  if (head - tail >= OPTILE_RING_EVENTS) {
    optile_store64(&slot.dropped, slot.dropped + 1);
    return;
  }
  uint64_t next = head;
  if (before != nullptr && head - tail + 1 < OPTILE_RING_EVENTS) {
    slot.ring[next++ % OPTILE_RING_EVENTS] = *before;
  }
  slot.ring[next++ % OPTILE_RING_EVENTS] = event;
  optile_store64(&slot.head, next);
}

bool has_ring(const Attachment& attached, const IssuingThread& thread) {
  if (thread.slot < OPTILE_MAX_THREADS) return true;
  __atomic_fetch_add(&attached.client->header.unseen_ops, 1, __ATOMIC_RELAXED);
  return false;
}

void add(uint64_t* word, uint64_t value) {
  optile_store64(word, *word + value);
}

}  // namespace

void write_op(const Attachment& attached, IssuingThread& thread, optile_event event, bool record,
              const optile_event* counts) {
  if (!has_ring(attached, thread)) return;
  optile_aggregate& total = slot_of(attached, thread).aggregates[event.op_id];
  add(&total.count, 1);
  add(&total.ticks, event.ticks);
  if (total.min_ticks == 0 || event.ticks < total.min_ticks) {
    optile_store64(&total.min_ticks, event.ticks == 0 ? 1 : event.ticks);
  }
  const uint64_t coarse = event.ticks >> 8;
  add(&total.squares, coarse * coarse);
  add(&total.region_ticks, event.region_ticks);
  add(&total.regions, event.regions);
  if ((event.flags & OPTILE_EVENT_DEFAULT_WIDTH) != 0) add(&total.default_width_count, 1);
  if (!record) return;
  event.step = optile_load32(&attached.client->header.steps);
  push(attached, thread, event, counts);
}

void write_step(const Attachment& attached, IssuingThread& thread, const StepTotals& totals) {
  if (!has_ring(attached, thread)) return;
  optile_event event = {};
  event.kind = OPTILE_EVENT_STEP;
  event.begin_ticks = totals.begin;
  event.ticks = totals.ticks;
  event.context = thread.observed;
  event.region_ticks = thread.steerable;
  event.generation_low = static_cast<uint32_t>(totals.generation);
  event.step = optile_load32(&attached.client->header.steps);
  event.width = static_cast<uint16_t>(thread.default_width);
  event.regions = thread.ops;
  event.width_changes = thread.width_changes;
  if (totals.mixed) event.flags |= OPTILE_EVENT_MIXED_GENERATION;
  if (totals.unheard) event.flags |= OPTILE_EVENT_UNHEARD;
  if (2 * thread.overlapped > thread.observed) event.flags |= OPTILE_EVENT_OVERLAPPED;
  if (totals.column >= 0) {
    event.flags |= OPTILE_EVENT_SCHEDULED;
    event.column = static_cast<uint8_t>(totals.column);
  }
  push(attached, thread, event);
}

bool may_show_open(const IssuingThread& thread) {
  return thread.slot < OPTILE_MAX_THREADS;
}

void show_open(const Attachment& attached, const IssuingThread& thread, uint64_t key, int width,
               uint64_t now) {
  if (!may_show_open(thread)) return;
  optile_thread_slot& slot = slot_of(attached, thread);
  optile_store64(&slot.open.width, static_cast<uint64_t>(width));
  optile_store64(&slot.open.since, now);
  optile_store64(&slot.open.key, key);
}

void show_closed(const Attachment& attached, const IssuingThread& thread) {
  if (may_show_open(thread)) optile_store64(&slot_of(attached, thread).open.key, 0);
}

void add_nested_time(const Attachment& attached, IssuingThread& thread, uint32_t op_id,
                     uint64_t ticks) {
  if (thread.slot >= OPTILE_MAX_THREADS) return;
  optile_aggregate& total = slot_of(attached, thread).aggregates[op_id];
  add(&total.count, 1);
  add(&total.ticks, ticks);
}

}  // namespace optile::preload
