// The admission gate of the process as its plan has it: opened with the menus of the plan page, its
// library loaded the first time. Any thread; under a lock of its own, which is never held while an
// op computes.
#pragma once

#include <stdint.h>

#include "bindings/preload/core/admission_gate.h"
#include "bindings/preload/shared_memory/plan_reader.h"

namespace optile::preload {

// A step begins, in which ops are admitted by `flow` of this plan. False: there is nothing to admit
// them by, so they pass.
bool begin_admitted_step(const PlanView& plan, uint32_t flow, uint64_t now);
// A step begins in which all pass: who waits goes on.
void begin_step_without_gate();

void enter_gate(AdmittedOp* op, const PlanView& plan, uint64_t key, uint64_t context, uint64_t now);
void leave_gate(const AdmittedOp& op, uint64_t now);
// False: it waited in vain, and was the first to say so: the gate is open for the rest of the step.
bool wait_for_admission(AdmittedOp* op);

}  // namespace optile::preload
