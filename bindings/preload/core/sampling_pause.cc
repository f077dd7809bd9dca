#include "bindings/preload/core/sampling_pause.h"

#include "bindings/preload/actuators/width_actuator.h"
#include "bindings/preload/core/width_decision.h"
#include "bindings/preload/shared_memory/attachment.h"
#include "bindings/preload/support/shim_clock.h"

namespace optile::preload {
namespace {

constexpr uint32_t kSteadySteps = 2;  // with as many landmarks each, before they are counted by

void (*sampling_switch)(int on) = nullptr;

// What a second thread may read is atomic; only the thread that paused sampling changes it, but for
// `paused`, which whoever sees that the pause has lasted too long clears.
uint32_t paused = 0;
uint32_t pausing_thread = 0;  // the number of the thread that paused sampling, now or last
uint64_t latest_end = 0;      // of the pause, in ticks
uint64_t landmarks = 0;       // since the latest pause began
uint32_t cut_off = 0;         // another thread ended the latest pause

struct Steps {
  bool begun = false;             // a step's begin was seen since the latest pause
  uint64_t landmarks_before = 0;  // when the present step began
  uint64_t per_step = 0;
  uint32_t steady = 0;   // steps in a row with as many landmarks
  uint32_t sampled = 0;  // whole steps since the latest pause, under one plan
  uint64_t generation = 0;
  // Of the pause.
  uint64_t context = 0;  // that the marker came in, to meet it again
  uint32_t cap = 0;
};
Steps steps;
uint32_t held_back = 0;  // a cap is left in place, on the thread that paused sampling
HeldWidth held;
bool count_matters = false;  // between ops: no pause under a cap

uint64_t longest_pause(const Attachment& attached) {
  const uint64_t rate = optile_load64(&attached.client->header.ticks_per_second);
  return kLongestPauseNs / 1'000'000'000 * rate;
}

bool is_overdue(uint64_t now) {
  return now > __atomic_load_n(&latest_end, __ATOMIC_RELAXED);
}

bool is_pausing_thread(const IssuingThread& thread) {
  return thread.tid == __atomic_load_n(&pausing_thread, __ATOMIC_RELAXED);
}

// Only one of those who want to end the pause does.
bool take_the_end() {
  uint32_t yes = 1;
  return __atomic_compare_exchange_n(&paused, &yes, 0, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
}

void wake(IssuingThread& thread) {
  restore_after_sampling_pause(thread);
  if (!take_the_end()) return;
  steps.begun = false;
  thread.context = steps.context;
  sampling_switch(1);
}

// By another thread, which goes on where the one that paused sampling does not: nothing of a
// thread's own is touched, neither this one's count nor that one's.
void end_for_others() {
  if (!take_the_end()) return;
  __atomic_store_n(&cut_off, 1, __ATOMIC_RELAXED);
  if (__atomic_load_n(&held_back, __ATOMIC_ACQUIRE) != 0) release_pool(held);
  sampling_switch(1);
}

// A step begins that is sampled; one before it may have ended.
void sample_step(const PlanView& plan) {
  const uint64_t seen = __atomic_load_n(&landmarks, __ATOMIC_RELAXED);
  const uint64_t in_step = seen - steps.landmarks_before;
  if (__atomic_exchange_n(&cut_off, 0, __ATOMIC_RELAXED) != 0) steps.begun = false;
  steps.landmarks_before = seen;
  if (steps.generation != plan.generation) {
    steps.generation = plan.generation;
    steps.sampled = 0;
  }
  if (!steps.begun) {
    steps.begun = true;
    steps.sampled = 0;
    return;
  }
  ++steps.sampled;
  steps.steady = in_step == steps.per_step ? steps.steady + 1 : 0;
  steps.per_step = in_step;
}

// The marker that no one reports has passed once a landmark of the step after it comes.
void count_step(const Attachment& attached, uint64_t since_pause) {
  if (since_pause <= 1 || (since_pause - 1) % steps.per_step != 0) return;
  __atomic_fetch_add(&attached.client->header.steps, 1, __ATOMIC_RELAXED);
}

}  // namespace

void offer_sampling_pause(void (*set_sampling)(int on)) {
  __atomic_store_n(&sampling_switch, set_sampling, __ATOMIC_RELEASE);
}

void landmark() {
  if (is_forked_child()) return;
  const Attachment* attached = attachment();
  IssuingThread* thread = known_issuing_thread();
  const bool paused_now = is_sampling_paused();
  if (thread == nullptr || attached == nullptr || (paused_now && !is_pausing_thread(*thread))) {
    end_overdue_sampling_pause();
    return;
  }
  const uint64_t seen = __atomic_add_fetch(&landmarks, 1, __ATOMIC_RELAXED);
  if (!paused_now) return;
  const uint64_t now = ticks();
  maintain_attachment(now);
  count_step(*attached, seen);
  const bool whole = seen % steps.per_step == 0;  // the next marker is the next thing to come
  const bool over = seen >= kUnsampledSteps * steps.per_step ||
                    optile_load64(&attached->plan->generation) != steps.generation;
  if ((whole && over) || is_overdue(now) || attachment() != attached) wake(*thread);
}

bool pause_sampling_from_step(IssuingThread& thread, const Attachment& attached,
                              const PlanView& plan, uint64_t now) {
  sample_step(plan);
  if (__atomic_load_n(&sampling_switch, __ATOMIC_ACQUIRE) == nullptr || steps.per_step == 0)
    return false;
  if (!plan.valid || (plan.flags & OPTILE_PAGE_MAY_PAUSE_SAMPLING) == 0 ||
      several_threads_issue()) {
    return false;
  }
  if (steps.sampled < kSampledSteps || steps.steady < kSteadySteps) return false;
  if (cap_of(plan) != 0 && count_matters) return false;
  steps.cap = cap_of(plan);
  steps.context = thread.context;
  __atomic_store_n(&latest_end, now + longest_pause(attached), __ATOMIC_RELAXED);
  __atomic_store_n(&pausing_thread, thread.tid, __ATOMIC_RELAXED);
  __atomic_store_n(&landmarks, 0, __ATOMIC_RELAXED);
  __atomic_store_n(&paused, 1, __ATOMIC_RELEASE);
  sampling_switch(0);
  return true;
}

void on_sampling_paused(const IssuingThread& thread) {
  if (!is_sampling_paused() || !is_pausing_thread(thread) || steps.cap == 0) return;
  if (__atomic_load_n(&held_back, __ATOMIC_RELAXED) != 0) return;
  held = hold_width(steps.cap);
  __atomic_store_n(&held_back, 1, __ATOMIC_RELEASE);
}

void restore_after_sampling_pause(const IssuingThread& thread) {
  if (__atomic_load_n(&held_back, __ATOMIC_RELAXED) == 0 || !is_pausing_thread(thread)) return;
  release_width(held);
  __atomic_store_n(&held_back, 0, __ATOMIC_RELAXED);
}

void note_own_region() {
  count_matters = true;
}

void note_count_is_read() {
  count_matters = true;
}

bool is_sampling_paused() {
  return __atomic_load_n(&paused, __ATOMIC_RELAXED) != 0;
}

void end_overdue_sampling_pause() {
  if (!is_sampling_paused() || !is_overdue(ticks())) return;
  IssuingThread* thread = known_issuing_thread();
  if (thread != nullptr && is_pausing_thread(*thread)) {
    wake(*thread);
  } else {
    end_for_others();
  }
}

}  // namespace optile::preload
