#include "bindings/preload/core/circuit_breaker.h"

#include "bindings/preload/support/environment.h"

namespace optile::preload {
namespace {

constexpr uint32_t kWindow = 32;        // executions under the entry
constexpr uint32_t kSlowOfWindow = 28;  // of them, before the entry is suspected
constexpr uint32_t kLongestWindow = 1U << 14;
constexpr uint32_t kPairs = 32;  // executions at the default width, each followed by one under it
constexpr uint32_t kSlowOfPairs = 26;    // a fair coin shows this once in 3,000 times
constexpr uint64_t kLongest = 8;         // times the baseline: longer executions count as this
constexpr uint64_t kMargin = 50;         // thousandths
constexpr uint64_t kMostAccepted = 250;  // thousandths

EntryRecord records[OPTILE_PLAN_SLOTS];

// By more than the margin, and than what the plan knowingly costs this op to spare its neighbours a
// change of width.
bool slower(const EntryRecord& record, uint64_t ticks, uint64_t than) {
  return ticks > than + than / 1000 * (kMargin + record.accepted_loss);
}

void begin_window(EntryRecord* record, EntryStage stage) {
  record->sum = 0;
  record->own_sum = 0;
  record->calls = 0;
  record->slow = 0;
  __atomic_store_n(&record->stage, static_cast<uint32_t>(stage), __ATOMIC_RELAXED);
}

void end_of_window(EntryRecord* record) {
  const bool suspected =
      record->slow * uint64_t{kWindow} >= record->calls * uint64_t{kSlowOfWindow};
  begin_window(record, suspected ? EntryStage::kTrying : EntryStage::kObeyed);
}

bool end_of_trying(EntryRecord* record) {
  const bool condemned = record->slow >= kSlowOfPairs;
  record->baseline = record->own_sum / kPairs;
  record->entry_mean = record->sum / kPairs;
  // Not the entry's fault: this is what the machine is like now.
  if (!condemned && record->window < kLongestWindow) record->window *= 2;
  begin_window(record, condemned ? EntryStage::kDisabled : EntryStage::kObeyed);
  return condemned;
}

// Another entry came to stand in this place, or the plan now says another width.
void start_over(EntryRecord* record, const Decision& decision) {
  record->key = decision.key;
  record->context = decision.context;
  record->width = decision.width;
  record->baseline = decision.baseline_ticks;
  record->accepted_loss =
      decision.accepted_loss < kMostAccepted ? decision.accepted_loss : kMostAccepted;
  record->entry_mean = 0;
  record->window = kWindow;
  begin_window(record, EntryStage::kObeyed);
}

void publish(const Attachment& attached, const EntryRecord& record, uint32_t generation_low) {
  optile_client_header& header = attached.client->header;
  static uint32_t busy = 0;
  // Another thread is at it: this entry stays disabled all the same, untold.
  if (__atomic_exchange_n(&busy, 1, __ATOMIC_ACQUIRE) != 0) return;
  const uint64_t number = optile_load64(&header.disabled_count);  // only written here
  optile_disabled_entry& out = header.disabled[number % OPTILE_MAX_DISABLED];
  optile_store64(&out.key, 0);
  optile_store64(&out.context, record.context);
  optile_store64(&out.entry_ticks, record.entry_mean);
  optile_store64(&out.own_ticks, record.baseline);
  optile_store32(&out.generation_low, generation_low);
  __atomic_store_n(&out.width, static_cast<uint16_t>(record.width), __ATOMIC_RELAXED);
  optile_store64(&out.key, record.key);
  optile_store64(&header.disabled_count, number + 1);
  __atomic_store_n(&busy, 0, __ATOMIC_RELEASE);
}

}  // namespace

bool default_width_is_next(const EntryRecord& record) {
  return record.calls % 2 == 0;
}

bool judge_execution(EntryRecord* record, uint64_t ticks) {
  const uint64_t longest = kLongest * record->baseline;
  const uint64_t cut = ticks < longest ? ticks : longest;
  if (record->stage != static_cast<uint32_t>(EntryStage::kTrying)) {
    ++record->calls;
    if (slower(*record, ticks, record->baseline)) ++record->slow;
    if (record->calls >= record->window) end_of_window(record);
    return false;
  }
  if (default_width_is_next(*record)) {
    record->own_ticks = ticks;
    record->own_sum += cut;
  } else {
    record->sum += cut;
    if (slower(*record, ticks, record->own_ticks)) ++record->slow;
  }
  return ++record->calls == 2 * kPairs && end_of_trying(record);
}

bool entry_is_obeyed(const IssuingThread& thread, const Decision& decision, uint32_t* judged) {
  *judged = 0;
  if (decision.baseline_ticks == 0 || environment().mode != OPTILE_MODE_TUNE) return true;
  EntryRecord& record = records[decision.slot];
  const uint32_t me = thread.slot + 1;
  uint32_t judge = __atomic_load_n(&record.judge, __ATOMIC_ACQUIRE);
  if (judge == 0 && __atomic_compare_exchange_n(&record.judge, &judge, me, false, __ATOMIC_ACQ_REL,
                                                __ATOMIC_ACQUIRE)) {
    judge = me;
  }
  if (judge == me) {
    const bool same = record.key == decision.key && record.context == decision.context &&
                      record.width == decision.width;
    if (!same) start_over(&record, decision);
    *judged = decision.slot + 1;
  }
  const uint32_t stage = __atomic_load_n(&record.stage, __ATOMIC_RELAXED);
  if (stage == static_cast<uint32_t>(EntryStage::kDisabled)) {
    *judged = 0;
    return false;
  }
  const bool trying = stage == static_cast<uint32_t>(EntryStage::kTrying);
  return !trying || judge != me || !default_width_is_next(record);
}

void judged_execution(const Attachment& attached, uint32_t judged, uint64_t ticks,
                      uint32_t generation_low) {
  if (judged == 0) return;
  EntryRecord& record = records[judged - 1];
  if (!judge_execution(&record, ticks)) return;
  publish(attached, record, generation_low);
  add_fallback(OPTILE_FALLBACK_ENTRY_DISABLED);
}

}  // namespace optile::preload
