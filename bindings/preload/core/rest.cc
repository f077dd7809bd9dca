#include "bindings/preload/core/rest.h"

#include "bindings/preload/actuators/width_actuator.h"
#include "bindings/preload/core/width_decision.h"
#include "bindings/preload/shared_memory/attachment.h"
#include "bindings/preload/support/shim_clock.h"

namespace optile::preload {
namespace {

constexpr uint32_t kSteadySteps = 2;  // with as many landmarks each, before they are counted by

void (*listen_to)(int on) = nullptr;

// Words that a second thread may read are atomic; only the thread that rests changes them, but for
// `resting`, which whoever sees that the rest has lasted too long clears.
uint32_t resting = 0;
uint32_t rester = 0;      // the number of the thread that rests, or rested last
uint64_t latest_end = 0;  // of the rest, in ticks
uint64_t landmarks = 0;   // since the latest rest began
uint32_t cut_off = 0;     // another thread ended the latest rest

struct Steps {
  bool begun = false;             // a step's begin was heard since the latest rest
  uint64_t landmarks_before = 0;  // when the present step began
  uint64_t per_step = 0;
  uint32_t steady = 0;    // steps in a row with as many landmarks
  uint32_t listened = 0;  // whole steps since the latest rest, under one plan
  uint64_t generation = 0;
  // Of the rest.
  uint64_t context = 0;  // that the marker came in, to meet it again
  uint32_t cap = 0;
};
Steps steps;
uint32_t held_back = 0;  // a cap is left in place, on the thread that rests
HeldWidth held;
bool count_matters = false;  // between ops: nothing rests under a cap

uint64_t longest_rest(const Attachment& attached) {
  const uint64_t rate = optile_load64(&attached.client->header.ticks_per_second);
  return kLongestRestNs / 1'000'000'000 * rate;
}

bool is_overdue(uint64_t now) {
  return now > __atomic_load_n(&latest_end, __ATOMIC_RELAXED);
}

bool is_rester(const IssuingThread& thread) {
  return thread.tid == __atomic_load_n(&rester, __ATOMIC_RELAXED);
}

// Only one of those who want to end the rest does.
bool take_the_end() {
  uint32_t yes = 1;
  return __atomic_compare_exchange_n(&resting, &yes, 0, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
}

void wake(IssuingThread& thread) {
  settle_after_rest(thread);
  if (!take_the_end()) return;
  steps.begun = false;
  thread.context = steps.context;
  listen_to(1);
}

// By another thread, which goes on where the one that rests does not: nothing of a thread's own is
// touched, neither this one's count nor that one's.
void end_for_others() {
  if (!take_the_end()) return;
  __atomic_store_n(&cut_off, 1, __ATOMIC_RELAXED);
  if (__atomic_load_n(&held_back, __ATOMIC_ACQUIRE) != 0) release_pool(held);
  listen_to(1);
}

// A step begins that somebody listens to; one before it may have ended.
void hear_step(const PlanView& plan) {
  const uint64_t seen = __atomic_load_n(&landmarks, __ATOMIC_RELAXED);
  const uint64_t in_step = seen - steps.landmarks_before;
  if (__atomic_exchange_n(&cut_off, 0, __ATOMIC_RELAXED) != 0) steps.begun = false;
  steps.landmarks_before = seen;
  if (steps.generation != plan.generation) {
    steps.generation = plan.generation;
    steps.listened = 0;
  }
  if (!steps.begun) {
    steps.begun = true;
    steps.listened = 0;
    return;
  }
  ++steps.listened;
  steps.steady = in_step == steps.per_step ? steps.steady + 1 : 0;
  steps.per_step = in_step;
}

// The marker that no one hears has passed once a landmark of the step after it comes.
void count_step(const Attachment& attached, uint64_t since_rest) {
  if (since_rest <= 1 || (since_rest - 1) % steps.per_step != 0) return;
  __atomic_fetch_add(&attached.client->header.steps, 1, __ATOMIC_RELAXED);
}

}  // namespace

void offer_rest(void (*listen)(int on)) {
  __atomic_store_n(&listen_to, listen, __ATOMIC_RELEASE);
}

void landmark() {
  if (is_forked_child()) return;
  const Attachment* attached = attachment();
  IssuingThread* thread = known_issuing_thread();
  const bool rests = rests_now();
  if (thread == nullptr || attached == nullptr || (rests && !is_rester(*thread))) {
    end_overdue_rest();
    return;
  }
  const uint64_t seen = __atomic_add_fetch(&landmarks, 1, __ATOMIC_RELAXED);
  if (!rests) return;
  const uint64_t now = ticks();
  maintain_attachment(now);
  count_step(*attached, seen);
  const bool whole = seen % steps.per_step == 0;  // the next marker is the next thing to come
  const bool over = seen >= kRestedSteps * steps.per_step ||
                    optile_load64(&attached->plan->generation) != steps.generation;
  if ((whole && over) || is_overdue(now) || attachment() != attached) wake(*thread);
}

bool rest_from_step(IssuingThread& thread, const Attachment& attached, const PlanView& plan,
                    uint64_t now) {
  hear_step(plan);
  if (__atomic_load_n(&listen_to, __ATOMIC_ACQUIRE) == nullptr || steps.per_step == 0) return false;
  if (!plan.valid || (plan.flags & OPTILE_PAGE_MAY_REST) == 0 || several_threads_issue()) {
    return false;
  }
  if (steps.listened < kListenedSteps || steps.steady < kSteadySteps) return false;
  if (cap_of(plan) != 0 && count_matters) return false;
  steps.cap = cap_of(plan);
  steps.context = thread.context;
  __atomic_store_n(&latest_end, now + longest_rest(attached), __ATOMIC_RELAXED);
  __atomic_store_n(&rester, thread.tid, __ATOMIC_RELAXED);
  __atomic_store_n(&landmarks, 0, __ATOMIC_RELAXED);
  __atomic_store_n(&resting, 1, __ATOMIC_RELEASE);
  listen_to(0);
  return true;
}

void rest_begins(const IssuingThread& thread) {
  if (!rests_now() || !is_rester(thread) || steps.cap == 0) return;
  if (__atomic_load_n(&held_back, __ATOMIC_RELAXED) != 0) return;
  held = hold_width(steps.cap);
  __atomic_store_n(&held_back, 1, __ATOMIC_RELEASE);
}

void settle_after_rest(const IssuingThread& thread) {
  if (__atomic_load_n(&held_back, __ATOMIC_RELAXED) == 0 || !is_rester(thread)) return;
  release_width(held);
  __atomic_store_n(&held_back, 0, __ATOMIC_RELAXED);
}

void note_own_region() {
  count_matters = true;
}

void note_count_is_read() {
  count_matters = true;
}

bool rests_now() {
  return __atomic_load_n(&resting, __ATOMIC_RELAXED) != 0;
}

void end_overdue_rest() {
  if (!rests_now() || !is_overdue(ticks())) return;
  IssuingThread* thread = known_issuing_thread();
  if (thread != nullptr && is_rester(*thread)) {
    wake(*thread);
  } else {
    end_for_others();
  }
}

}  // namespace optile::preload
