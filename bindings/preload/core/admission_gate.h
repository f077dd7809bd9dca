// Where the ops of an executor's step wait until a strategy admits them (admission_api.h): asleep,
// each on the thread that would compute it, and not for ever. Where nothing ends and nothing starts
// for as long as support/patience.h has it, the gate opens for the rest of the step: what waits
// goes on at its own width. All but wait() under one lock of the caller's; one gate of a process.
#pragma once

#include <stdint.h>

#include "bindings/preload/core/admission_api.h"

namespace optile::preload {

// An execution at the gate: on the stack of its thread until it has left.
struct AdmittedOp {
  uint32_t state = 0;  // AdmissionGate::State, a futex word
  uint32_t width = 0;  // that it was admitted with; 0 = its own
  uint32_t node = OPTILE_NO_NODE;
  uint32_t step = 0;
  bool sleeps = false;  // its thread has to be woken
  AdmittedOp* next = nullptr;

  bool waits() const;
};

class AdmissionGate {
 public:
  enum State : uint32_t { kPassed = 0, kWaits = 1, kAdmitted = 2 };

  // What comes is admitted by the strategy of this problem, which has the place of an earlier one
  // with this flow. False: it passes. `api`: for as long as the gate.
  bool open_for(const optile_admission_api* api, const optile_admission_problem& problem);
  // What comes is admitted by the problem of this flow, as it was left. False: none was opened.
  bool select(uint32_t flow);
  // Forgets all problems; what comes passes.
  void close();
  bool has_problem() const { return handle_ != nullptr; }

  // Who still waits from the step before goes on.
  void begin_step();
  // An execution of the place is ready, so long after the step began. Passed, admitted, or to wait.
  void enter(AdmittedOp* op, uint32_t place, double seconds);
  // Not under the lock. False: it waits in vain, so the caller opens the gate and goes on.
  bool wait(AdmittedOp* op) const;
  // It has ended.
  void leave(const AdmittedOp& op, double seconds);
  // All that wait go on at their own widths, and so does what comes in this step.
  void release_all();

 private:
  void admit(double seconds);

  static constexpr uint32_t kFlows = OPTILE_FLOW_AHEAD + 1;

  const optile_admission_api* api_ = nullptr;
  void* handle_ = nullptr;  // of the flow in use; null: it passes
  void* handles_[kFlows] = {};
  bool opened_[kFlows] = {};
  AdmittedOp* waiting_ = nullptr;
  uint32_t step_ = 0;
  uint32_t moves_ = 0;  // starts and ends
  bool released_ = false;
};

inline bool AdmittedOp::waits() const {
  return __atomic_load_n(&state, __ATOMIC_ACQUIRE) == AdmissionGate::kWaits;
}

}  // namespace optile::preload
