#include "bindings/preload/shared_memory/plan_reader.h"

namespace optile::preload {
namespace {

// Generation in the upper bits, position in the lower: one word, so that both change together.
// Position 0 = the schedule has not started, i = column i - 1, kDone = over.
constexpr uint64_t kPositionBits = 8;
constexpr uint64_t kDone = 255;
uint64_t schedule_word = 0;

uint64_t position_of(const PlanView& plan) {
  const uint64_t word = __atomic_load_n(&schedule_word, __ATOMIC_RELAXED);
  return (word >> kPositionBits) == plan.generation ? word & kDone : 0;
}

uint16_t load16(const uint16_t* half) {
  return __atomic_load_n(half, __ATOMIC_ACQUIRE);
}

bool find_entry(const PlanView& plan, uint64_t key, uint64_t context, int column,
                Decision* decision) {
  uint32_t at = optile_plan_slot(key, context);
  for (uint32_t probe = 0; probe < OPTILE_PLAN_SLOTS / 2; ++probe) {
    const optile_plan_entry& entry = plan.page->slots[at];
    const uint64_t found = optile_load64(&entry.key);
    if (found == 0) return false;
    if (found == key && optile_load64(&entry.context) == context) {
      decision->found = true;
      decision->width = column >= 0 ? load16(&entry.schedule[column]) : load16(&entry.width);
      decision->flags = load16(&entry.flags);
      decision->slot = at;
      decision->key = key;
      decision->context = context;
      decision->accepted_loss = optile_load32(&entry.accepted_loss);
      decision->baseline_ticks = optile_load64(&entry.baseline_ticks);
      return true;
    }
    at = (at + 1) & (OPTILE_PLAN_SLOTS - 1);
  }
  return false;
}

}  // namespace

PlanView current_plan(const Attachment& attached) {
  PlanView view;
  view.generation = optile_load64(&attached.plan->generation);
  if (view.generation == 0) return view;
  view.page = &attached.plan->pages[view.generation & 1];
  view.flags = optile_load32(&view.page->flags);
  view.marker_key = optile_load64(&view.page->marker_key);
  view.marker_context = optile_load64(&view.page->marker_context);
  view.schedule_length = optile_load32(&view.page->schedule_length);
  view.default_width_cap = optile_load32(&view.page->default_width_cap);
  const uint64_t cores = optile_load64(&attached.plan->shared_cores);
  view.shared_cores = cores < UINT32_MAX ? static_cast<uint32_t>(cores) : 0;
  view.valid = optile_load64(&view.page->generation) == view.generation &&
               view.schedule_length <= OPTILE_MAX_SCHEDULE;
  return view;
}

Decision look_up(const PlanView& plan, uint64_t key, uint64_t context, int column) {
  Decision decision;
  if (!plan.valid) return decision;
  if (!find_entry(plan, key, context, column, &decision)) {
    find_entry(plan, key, 0, column, &decision);
  }
  if (optile_load64(&plan.page->generation) != plan.generation) return Decision{};
  return decision;
}

FlowView flow_in(const PlanView& plan, int column) {
  if (!plan.valid) return {};
  const optile_plan_page& page = *plan.page;
  FlowView view;
  view.flow = column < 0 ? load16(&page.flow)
                         : __atomic_load_n(&page.schedule_flow[column], __ATOMIC_ACQUIRE);
  view.cap = column < 0 ? load16(&page.flow_cap) : load16(&page.schedule_flow_cap[column]);
  return optile_load64(&page.generation) == plan.generation ? view : FlowView{};
}

int schedule_column(const PlanView& plan) {
  if (!plan.valid || plan.schedule_length == 0) return -1;
  const uint64_t position = position_of(plan);
  return position == 0 || position > plan.schedule_length ? -1 : static_cast<int>(position) - 1;
}

int next_schedule_column(const PlanView& plan) {
  if (!plan.valid || plan.schedule_length == 0) return -1;
  const uint64_t position = position_of(plan);
  return position >= plan.schedule_length ? -1 : static_cast<int>(position);
}

void advance_schedule(const PlanView& plan) {
  if (!plan.valid || plan.schedule_length == 0) return;
  const uint64_t position = position_of(plan);
  const uint64_t next = position >= plan.schedule_length ? kDone : position + 1;
  __atomic_store_n(&schedule_word, (plan.generation << kPositionBits) | next, __ATOMIC_RELAXED);
}

uint32_t wanted_binding(const PlanView& plan, int column) {
  if (!plan.valid) return OPTILE_BINDING_NONE;
  if (column < 0) return optile_load32(&plan.page->binding);
  return __atomic_load_n(&plan.page->schedule_binding[column], __ATOMIC_ACQUIRE);
}

}  // namespace optile::preload
