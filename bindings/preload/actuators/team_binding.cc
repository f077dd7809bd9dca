#include "bindings/preload/actuators/team_binding.h"

#include <errno.h>
#include <sched.h>
#include <string.h>

#include "base/hash.h"
#include "bindings/preload/actuators/issuer_share.h"
#include "bindings/preload/shared_memory/attachment.h"
#include "bindings/preload/support/environment.h"
#include "bindings/preload/support/host_log.h"

namespace optile::preload {
namespace {

// The order in force; written by the thread that begins a step while no region is open on it, read
// by the teams of its regions.
uint16_t order[OPTILE_MAX_CPUS];
uint32_t order_count = 0;
uint64_t order_generation = 0;
uint32_t in_force = OPTILE_BINDING_NONE;
uint32_t epoch = 0;  // of the order; 0 = nothing was ever in force
bool refused = false;
// The issuing thread's outside regions, which is what its program has given it, or the daemon with
// a lease; as of the last step with a binding.
cpu_set_t program_mask;
uint32_t steps_outside = 0;  // in a row, whose order reached outside that mask

// A plan and a lease come by different ways, so that an order may be here before the mask that it
// lies in. One that lies outside for so long was cut off by somebody else.
constexpr uint32_t kMostStepsOutside = 1000;

// Threads may have been made by one that had our mask at that moment.
bool inherited = false;

// What this worker's mask follows, and as which thread of the team.
thread_local uint32_t my_epoch = 0;
thread_local int my_thread = 0;
// Stands for the mask that it was given last; 0: none yet. A whole mask would be dear in the
// program's threads.
thread_local uint32_t my_mark = 0;

void refuse() {
  if (__atomic_exchange_n(&refused, true, __ATOMIC_RELAXED)) return;
  add_fallback(OPTILE_FALLBACK_MASK_REFUSED);
  log_line("a mask was refused or clipped: threads are not bound any more", "");
}

bool within_program_mask(const uint16_t* units, uint32_t count) {
  for (uint32_t i = 0; i < count; ++i) {
    if (units[i] >= CPU_SETSIZE || !CPU_ISSET(units[i], &program_mask)) return false;
  }
  return true;
}

// Units outside the program's own mask would be refused, or silently clipped.
bool copy_order(const PlanView& plan, uint32_t binding) {
  const uint16_t* from =
      binding == OPTILE_BINDING_COMPACT ? plan.page->compact_order : plan.page->spread_order;
  const uint32_t count = optile_load32(&plan.page->cpu_count);
  if (count == 0 || count > OPTILE_MAX_CPUS) return false;
  uint16_t copy[OPTILE_MAX_CPUS];
  for (uint32_t i = 0; i < count; ++i) copy[i] = __atomic_load_n(&from[i], __ATOMIC_ACQUIRE);
  if (optile_load64(&plan.page->generation) != plan.generation) return false;
  if (!within_program_mask(copy, count)) {
    if (++steps_outside == kMostStepsOutside) refuse();
    return false;
  }
  steps_outside = 0;
  memcpy(order, copy, count * sizeof copy[0]);
  order_count = count;
  order_generation = plan.generation;
  return true;
}

// True when it is another than at the last step: a lease has moved, or the program itself.
bool learn_program_mask() {
  cpu_set_t now;
  if (sched_getaffinity(0, sizeof now, &now) != 0 || CPU_EQUAL(&now, &program_mask)) return false;
  program_mask = now;
  return true;
}

uint32_t mark_of(const cpu_set_t& mask) {
  return static_cast<uint32_t>(base::hash_bytes(&mask, sizeof mask)) | 1U;
}

// This worker has neither the mask that the program has as a whole nor one of ours: the program
// put it there, or its user.
bool is_placed(const cpu_set_t& outside) {
  if (__atomic_load_n(&inherited, __ATOMIC_RELAXED)) return false;
  const int kept_errno = errno;
  cpu_set_t now;
  const bool placed = sched_getaffinity(0, sizeof now, &now) == 0 && !CPU_EQUAL(&now, &outside) &&
                      mark_of(now) != my_mark;
  errno = kept_errno;
  return placed;
}

void free_mask(const cpu_set_t& outside) {
  const int kept_errno = errno;
  if (set_thread_mask(outside)) my_mark = mark_of(outside);
  errno = kept_errno;
}

void set_mask(const cpu_set_t& mask, const cpu_set_t& outside) {
  const int kept_errno = errno;
  cpu_set_t got;
  if (!set_thread_mask(mask) || sched_getaffinity(0, sizeof got, &got) != 0 ||
      !CPU_EQUAL(&mask, &got)) {
    // The allowed set has changed under the plan. No more masks from us.
    refuse();
    set_thread_mask(outside);
    my_mark = mark_of(outside);
  } else {
    my_mark = mark_of(mask);
  }
  errno = kept_errno;
}

// What it has at this moment may be another lease than the order's, which will change soon. A
// region inside a team of one, or after one that was left by a jump, finds our own mask.
void bind_master(const cpu_set_t& mask, PrimaryThreadMask* master) {
  const int kept_errno = errno;
  cpu_set_t now;
  if (sched_getaffinity(0, sizeof now, &now) == 0) {
    if (!master->is_ours || !CPU_EQUAL(&now, &master->set)) master->had = now;
    if (lies_within(mask, master->had)) {
      master->is_ours = true;
      master->set = mask;
      set_mask(mask, master->had);
    }
  }
  errno = kept_errno;
}

void follow_order(int thread, PrimaryThreadMask* master) {
  if (__atomic_load_n(&in_force, __ATOMIC_RELAXED) == OPTILE_BINDING_NONE) {
    if (thread != 0 && !is_placed(program_mask)) free_mask(program_mask);
    return;
  }
  cpu_set_t mask;
  CPU_ZERO(&mask);
  const auto index = static_cast<uint32_t>(thread);
  if (index < order_count) {
    CPU_SET(order[index], &mask);
  } else {
    // A team larger than the order: who has no unit of its own may run on all of them.
    for (uint32_t i = 0; i < order_count; ++i) CPU_SET(order[i], &mask);
  }
  if (thread == 0) {
    bind_master(mask, master);
  } else if (!is_placed(program_mask)) {
    set_mask(mask, program_mask);
  }
}

// Nobody else said where they run, and none was refused.
bool may_place_teams() {
  if (environment().user_binding) {
    add_fallback(OPTILE_FALLBACK_USER_BINDING);
    return false;
  }
  return may_steer() && !__atomic_load_n(&refused, __ATOMIC_RELAXED);
}

uint32_t allowed_binding(const PlanView& plan, int column) {
  const uint32_t wanted = wanted_binding(plan, column);
  if (wanted == OPTILE_BINDING_NONE || wanted > OPTILE_BINDING_SPREAD) return OPTILE_BINDING_NONE;
  // The first threads of two teams would share a unit.
  if (!may_place_teams() || several_threads_issue()) return OPTILE_BINDING_NONE;
  return wanted;
}

}  // namespace

uint32_t binding_in_force() {
  return __atomic_load_n(&in_force, __ATOMIC_RELAXED);
}

void adopt_binding(const PlanView& plan, int column, const PrimaryThreadMask& master) {
  uint32_t wanted = allowed_binding(plan, column);
  const bool same = wanted == binding_in_force();
  if (same && wanted == OPTILE_BINDING_NONE) return;
  // Inside a region of its own this thread has our mask: nothing to learn from it.
  if (master.is_ours) return;
  const bool moved = learn_program_mask();
  if (same && !moved && plan.generation == order_generation) return;
  if (wanted != OPTILE_BINDING_NONE && !copy_order(plan, wanted)) wanted = OPTILE_BINDING_NONE;
  if (wanted == OPTILE_BINDING_NONE && binding_in_force() == wanted) return;
  __atomic_store_n(&in_force, wanted, __ATOMIC_RELAXED);
  __atomic_add_fetch(&epoch, 1, __ATOMIC_RELEASE);
}

void masks_may_be_inherited() {
  __atomic_store_n(&inherited, true, __ATOMIC_RELAXED);
}

bool teams_were_bound() {
  return __atomic_load_n(&epoch, __ATOMIC_RELAXED) != 0;
}

void follow_binding(const OpenmpRuntime& runtime, PrimaryThreadMask* master) {
  const uint32_t now = __atomic_load_n(&epoch, __ATOMIC_ACQUIRE);
  const int thread = runtime.get_thread_num();
  if (thread == 0) {
    // A team of one has nobody to stand beside, and may be left by a jump: what the thread makes
    // from then on would inherit the mask.
    if (runtime.get_num_threads() > 1) follow_order(thread, master);
  } else if (my_epoch != now || my_thread != thread) {
    my_epoch = now;
    my_thread = thread;
    follow_order(thread, master);
  }
}

void put_mask_back(PrimaryThreadMask* master) {
  if (!master->is_ours) return;
  master->is_ours = false;
  const int kept_errno = errno;
  cpu_set_t now;
  if (sched_getaffinity(0, sizeof now, &now) == 0 && CPU_EQUAL(&now, &master->set)) {
    set_thread_mask(master->had);
  }
  errno = kept_errno;
}

}  // namespace optile::preload
