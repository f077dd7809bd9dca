// Reads the daemon's plan without ever waiting for it: fields are copied, then the page's
// generation is looked at again; a copy that raced with the writer counts as "no plan" for this one
// op. Also walks the schedule of sampled steps. Any thread.
#pragma once

#include <stdint.h>

#include "bindings/preload/shared_memory/attachment.h"

namespace optile::preload {

// The page in force, as far as one op needs it.
struct PlanView {
  bool valid = false;
  uint64_t generation = 0;
  const optile_plan_page* page = nullptr;
  uint32_t flags = OPTILE_PAGE_RECORD_ALL;  // attached without a plan yet: everything is recorded
  uint64_t marker_key = 0;
  uint64_t marker_context = 0;
  uint32_t schedule_length = 0;
  uint32_t default_width_cap = 0;
  // Not of the page: in force at once.
  uint32_t shared_cores = 0;  // 0 = nobody shares
};
PlanView current_plan(const Attachment& attached);

// What the plan says of one op in `column` (-1: no scheduled step is running).
struct Decision {
  bool found = false;
  uint32_t width = 0;  // 0 = the program's own
  uint16_t flags = 0;  // optile_entry_flag
  // Of the entry itself.
  uint32_t slot = 0;
  uint64_t key = 0;
  uint64_t context = 0;  // 0 = in any context
  uint64_t baseline_ticks = 0;
  uint32_t accepted_loss = 0;
};
Decision look_up(const PlanView& plan, uint64_t key, uint64_t context, int column);

// How the ops of an executor pass in `column`.
struct FlowView {
  uint32_t flow = OPTILE_FLOW_FREE;  // optile_flow
  uint32_t cap = 0;                  // of an op's width; 0 = none
};
FlowView flow_in(const PlanView& plan, int column);

// The running column of the plan's schedule; -1 before it starts and after it ends.
int schedule_column(const PlanView& plan);
// What it will be once the next step has begun.
int next_schedule_column(const PlanView& plan);
// A step begins: the schedule starts, or goes on.
void advance_schedule(const PlanView& plan);

// Binding that the plan wants now (optile_binding).
uint32_t wanted_binding(const PlanView& plan, int column);

}  // namespace optile::preload
