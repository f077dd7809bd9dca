#include "bindings/preload/core/op_counters.h"

#include <errno.h>
#include <string.h>

#include "bindings/preload/counters/counter_api.h"
#include "bindings/preload/runtimes/own_library.h"
#include "bindings/preload/support/environment.h"
#include "bindings/preload/support/host_log.h"
#include "bindings/preload/support/uncancelled.h"

namespace optile::preload {
namespace {

enum State : uint32_t {
  kIdle = 0,
  kCounting = 1,
  kClosing = 2,  // no more counts, but workers have descriptors open
};

uint32_t state = kIdle;
uint32_t group_in_force = 0;
uint32_t latest_serial = 0;

// Touched only by the thread that holds `busy`, at a step's begin.
int busy = 0;
bool tried = false;
uint64_t counted_generation = 0;
uint32_t counted_steps = 0;
uint32_t closing_steps = 0;

// Constant once `api` is set.
const optile_counter_api* api = nullptr;
optile_counters_found found;
int refusal = 0;  // errno of what is missing altogether
int gave_up = 0;  // set by any thread: a read failed

thread_local uint32_t my_group = 0;   // that this thread follows, + 1; 0 = none
thread_local uint32_t my_serial = 0;  // of the op that this worker counted itself in

const optile_counter_api* counters() {
  return __atomic_load_n(&api, __ATOMIC_ACQUIRE);
}

bool is_sound(const optile_counters_found& what) {
  if (what.tier != OPTILE_COUNTERS_SOFTWARE && what.tier != OPTILE_COUNTERS_HARDWARE) return false;
  return what.groups > 0 && what.groups <= OPTILE_COUNTER_GROUPS;
}

// What stops a tier is in the header; that there is none at all is a fallback too.
void open_counters() {
  constexpr const char* kLost = "no counters: ops are known by their time alone";
  tried = true;
  const auto* offered = own_api<optile_counter_api>(OPTILE_COUNTERS_LIBRARY, OPTILE_COUNTERS_SYMBOL,
                                                    OPTILE_COUNTER_API_VERSION, kLost);
  if (offered == nullptr) {
    refusal = errno;
    return;
  }
  refusal = offered->find(environment().highest_counters, &found);
  if (refusal == 0 && !is_sound(found)) refusal = ENOEXEC;
  if (refusal != 0) {
    log_line(kLost, "nothing can be counted here");
    return;
  }
  __atomic_store_n(&api, offered, __ATOMIC_RELEASE);
}

void tell(const Attachment& attached) {
  optile_client_header& header = attached.client->header;
  if (counters() == nullptr) {
    add_fallback(OPTILE_FALLBACK_NO_COUNTERS);
    __atomic_store_n(&header.counter_errno, refusal, __ATOMIC_RELAXED);
    return;
  }
  if (optile_load32(&header.counter_tier) == found.tier) return;
  memcpy(header.counter_events, found.events, sizeof found.events);
  __atomic_store_n(&header.counter_errno, found.refused, __ATOMIC_RELAXED);
  optile_store32(&header.counter_groups, found.groups);
  optile_store32(&header.counter_tier, found.tier);
}

// A count that cannot be read means that a descriptor is gone, and the next may be somebody else's.
void give_up() {
  if (__atomic_exchange_n(&gave_up, 1, __ATOMIC_RELAXED) != 0) return;
  add_fallback(OPTILE_FALLBACK_NO_COUNTERS);
  log_line("counters cannot be read any more: ops are known by their time alone", "");
}

void leave() {
  if (my_group == 0) return;
  counters()->leave();
  my_group = 0;
}

// False: this thread counts nothing now.
bool follow(uint32_t group) {
  if (my_group == group + 1) return true;
  const int why = counters()->follow(group);
  my_group = why == 0 ? group + 1 : 0;
  // Somebody else is opening theirs: next time. Too few descriptors is the program's affair.
  if (why != 0 && why != EBUSY && why != EMFILE) give_up();
  return why == 0;
}

void stop_counting() {
  if (__atomic_load_n(&state, __ATOMIC_RELAXED) == kIdle) return;
  leave();
  if (__atomic_load_n(&state, __ATOMIC_RELAXED) == kCounting) {
    closing_steps = kClosingSteps;
    __atomic_store_n(&state, kClosing, __ATOMIC_RELEASE);
  }
  if (counters()->followers() == 0 || closing_steps == 0) {
    __atomic_store_n(&state, kIdle, __ATOMIC_RELEASE);
  } else {
    --closing_steps;
  }
}

bool is_wanted(const PlanView& plan) {
  if (!plan.valid || (plan.flags & OPTILE_PAGE_COUNT) == 0) return false;
  if (environment().highest_counters == OPTILE_COUNTERS_NONE) return false;
  // Steps of a schedule are compared with each other: nothing is read there.
  if (schedule_column(plan) >= 0 || __atomic_load_n(&gave_up, __ATOMIC_RELAXED) != 0) return false;
  if (plan.generation != counted_generation) {
    counted_generation = plan.generation;
    counted_steps = 0;
  }
  return counted_steps++ < kMostCountedSteps;
}

void adopt(const Attachment& attached, const PlanView& plan, uint32_t step) {
  if (!is_wanted(plan)) {
    stop_counting();
    return;
  }
  if (!tried) open_counters();
  tell(attached);
  if (counters() == nullptr) return;
  const uint32_t group = step % found.groups;
  if (!follow(group)) return;
  __atomic_store_n(&group_in_force, group, __ATOMIC_RELAXED);
  __atomic_store_n(&state, kCounting, __ATOMIC_RELEASE);
}

}  // namespace

void adopt_counting(const Attachment& attached, const PlanView& plan, uint32_t step) {
  const bool asked = plan.valid && (plan.flags & OPTILE_PAGE_COUNT) != 0;
  if (!asked && __atomic_load_n(&state, __ATOMIC_RELAXED) == kIdle) return;
  const Uncancelled uncancelled;
  if (__atomic_exchange_n(&busy, 1, __ATOMIC_ACQUIRE) != 0) return;
  const int kept_errno = errno;
  adopt(attached, plan, step);
  errno = kept_errno;
  __atomic_store_n(&busy, 0, __ATOMIC_RELEASE);
}

bool counters_in_use() {
  return __atomic_load_n(&state, __ATOMIC_ACQUIRE) != kIdle;
}

void begin_counts(IssuingThread& thread) {
  const Uncancelled uncancelled;
  OpCounts& counts = thread.counts;
  counts.on = 0;
  if (__atomic_load_n(&state, __ATOMIC_ACQUIRE) != kCounting ||
      __atomic_load_n(&gave_up, __ATOMIC_RELAXED) != 0) {
    leave();
    return;
  }
  const uint32_t group = __atomic_load_n(&group_in_force, __ATOMIC_RELAXED);
  if (!follow(group)) return;
  counts.group = group;
  counts.spoilt = 0;
  counts.threads = 1;
  counts.serial = __atomic_add_fetch(&latest_serial, 1, __ATOMIC_RELAXED);
  memset(counts.workers, 0, sizeof counts.workers);
  if (counters()->read(counts.begin) != 0) {
    give_up();
    return;
  }
  counts.on = 1;
}

bool end_counts(IssuingThread& thread, optile_event* event) {
  const Uncancelled uncancelled;
  OpCounts& counts = thread.counts;
  counts.on = 0;
  uint64_t now[OPTILE_GROUP_EVENTS];
  if (counters()->read(now) != 0) {
    give_up();
    return false;
  }
  if (__atomic_load_n(&counts.spoilt, __ATOMIC_ACQUIRE) != 0) return false;
  uint64_t sums[OPTILE_GROUP_EVENTS];
  for (uint32_t i = 0; i < OPTILE_GROUP_EVENTS; ++i) {
    sums[i] = now[i] - counts.begin[i] + __atomic_load_n(&counts.workers[i], __ATOMIC_RELAXED);
  }
  *event = {};
  event->begin_ticks = sums[0];
  event->ticks = sums[1];
  event->context = sums[2];
  event->region_ticks = sums[3];
  event->kind = OPTILE_EVENT_COUNTS;
  event->column = static_cast<uint8_t>(counts.group);
  event->regions = __atomic_load_n(&counts.threads, __ATOMIC_RELAXED);
  return true;
}

bool begin_part(OpCounts& op, uint64_t (&begin)[OPTILE_GROUP_EVENTS]) {
  // The issuing thread counts all of the op already.
  const IssuingThread* issuing = known_issuing_thread();
  if (issuing != nullptr && &issuing->counts == &op) return false;
  const Uncancelled uncancelled;
  const int kept_errno = errno;
  if (op.on == 0) {
    if (__atomic_load_n(&state, __ATOMIC_RELAXED) != kCounting) leave();
    errno = kept_errno;
    return false;
  }
  if (my_group != op.group + 1) {
    // Takes much longer than what is to be counted.
    __atomic_store_n(&op.spoilt, 1, __ATOMIC_RELEASE);
    follow(op.group);
    errno = kept_errno;
    return false;
  }
  if (counters()->read(begin) == 0) return true;
  __atomic_store_n(&op.spoilt, 1, __ATOMIC_RELEASE);
  give_up();
  return false;
}

void end_part(OpCounts& op, const uint64_t (&begin)[OPTILE_GROUP_EVENTS]) {
  const Uncancelled uncancelled;
  uint64_t now[OPTILE_GROUP_EVENTS];
  if (counters()->read(now) != 0) {
    __atomic_store_n(&op.spoilt, 1, __ATOMIC_RELEASE);
    give_up();
    return;
  }
  for (uint32_t i = 0; i < OPTILE_GROUP_EVENTS; ++i) {
    __atomic_fetch_add(&op.workers[i], now[i] - begin[i], __ATOMIC_RELAXED);
  }
  if (my_serial == op.serial) return;
  my_serial = op.serial;
  __atomic_fetch_add(&op.threads, 1, __ATOMIC_RELAXED);
}

}  // namespace optile::preload
