#include "bindings/preload/team_binding.h"

#include <sched.h>
#include <string.h>

#include "bindings/preload/environment.h"

namespace optile::preload {
namespace {

// The order in force; written by the thread that begins a step while no region is open on it.
uint16_t order[OPTILE_MAX_CPUS];
uint32_t order_count = 0;
uint32_t in_force = OPTILE_BINDING_NONE;
uint32_t epoch = 0;  // counts changes; 0 = no binding was ever in force
bool refused = false;
cpu_set_t program_mask;  // before we touched any

thread_local uint32_t my_epoch = 0;

bool copy_order(const PlanView& plan, uint32_t binding) {
  const uint16_t* from =
      binding == OPTILE_BINDING_COMPACT ? plan.page->compact_order : plan.page->spread_order;
  const uint32_t count = optile_load32(&plan.page->cpu_count);
  if (count > OPTILE_MAX_CPUS) return false;
  uint16_t copy[OPTILE_MAX_CPUS];
  for (uint32_t i = 0; i < count; ++i) copy[i] = __atomic_load_n(&from[i], __ATOMIC_ACQUIRE);
  if (optile_load64(&plan.page->generation) != plan.generation) return false;
  for (uint32_t i = 0; i < count; ++i) {
    if (copy[i] >= CPU_SETSIZE) return false;
    __atomic_store_n(&order[i], copy[i], __ATOMIC_RELAXED);
  }
  __atomic_store_n(&order_count, count, __ATOMIC_RELEASE);
  return true;
}

void set_own_mask(int thread) {
  cpu_set_t mask;
  const uint32_t count = __atomic_load_n(&order_count, __ATOMIC_ACQUIRE);
  const bool bound =
      __atomic_load_n(&in_force, __ATOMIC_RELAXED) != OPTILE_BINDING_NONE && count > 0;
  if (bound) {
    CPU_ZERO(&mask);
    CPU_SET(__atomic_load_n(&order[static_cast<uint32_t>(thread) % count], __ATOMIC_RELAXED),
            &mask);
  } else {
    mask = program_mask;
  }
  cpu_set_t got;
  const bool set = sched_setaffinity(0, sizeof mask, &mask) == 0 &&
                   sched_getaffinity(0, sizeof got, &got) == 0 && CPU_EQUAL(&mask, &got);
  if (set || !bound) return;
  // Clipped or refused: the allowed set has changed under the plan. No more masks from us.
  __atomic_store_n(&refused, true, __ATOMIC_RELAXED);
  sched_setaffinity(0, sizeof program_mask, &program_mask);
  add_fallback(OPTILE_FALLBACK_MASK_REFUSED);
}

}  // namespace

uint32_t binding_in_force() {
  return __atomic_load_n(&in_force, __ATOMIC_RELAXED);
}

void adopt_binding(const PlanView& plan, int column) {
  uint32_t wanted = wanted_binding(plan, column);
  if (wanted > OPTILE_BINDING_SPREAD || __atomic_load_n(&refused, __ATOMIC_RELAXED)) {
    wanted = OPTILE_BINDING_NONE;
  }
  if (wanted != OPTILE_BINDING_NONE && environment().user_binding) {
    add_fallback(OPTILE_FALLBACK_USER_BINDING);
    wanted = OPTILE_BINDING_NONE;
  }
  if (wanted == binding_in_force()) return;
  if (__atomic_load_n(&epoch, __ATOMIC_RELAXED) == 0 &&
      sched_getaffinity(0, sizeof program_mask, &program_mask) != 0) {
    return;
  }
  if (wanted != OPTILE_BINDING_NONE && !copy_order(plan, wanted)) return;
  __atomic_store_n(&in_force, wanted, __ATOMIC_RELAXED);
  __atomic_fetch_add(&epoch, 1, __ATOMIC_RELEASE);
}

bool trampoline_needed() {
  return __atomic_load_n(&epoch, __ATOMIC_RELAXED) != 0;
}

void run_trampoline(void* trampoline) {
  const auto* wrapped = static_cast<const Trampoline*>(trampoline);
  const uint32_t now = __atomic_load_n(&epoch, __ATOMIC_ACQUIRE);
  if (my_epoch != now && wrapped->runtime->get_thread_num != nullptr) {
    const int thread = wrapped->runtime->get_thread_num();
    if (thread > 0) set_own_mask(thread);
    my_epoch = now;
  }
  wrapped->function(wrapped->data);
}

}  // namespace optile::preload
