// Ops of a framework whose executor hands those that are ready to the threads of a pool, several at
// once (TensorFlow's inter-op threads). One issuing thread, shared by all of them, stands for the
// executor: its steps are the function calls that the framework declares, its ops are known by what
// the framework calls them and not by their order, which is another one in every step.
//
// How a step's ops pass is decided where it begins, by the plan:
//   kUnheard     nobody listens: nothing is done at an op. The step's time is told where it is
//   asked
//                for, as in comparisons of whole steps.
//   kConcurrent  as the executor runs them; each is told of, and says nothing of its width where
//                others ran beside it.
//   kSerial      one at a time, each at the width that the plan has for it.
//   kAdmitted    side by side, each when and as wide as a strategy admits it (admission_gate.h);
//                told of where somebody listens.
// An op that waits for its turn sleeps, and not for ever (support/patience.h): where nothing goes
// on it runs beside the others, and after kMostOpenings of those the executor is left alone for the
// rest of the process.
#pragma once

#include <stdint.h>

#include "bindings/preload/core/admission_gate.h"
#include "bindings/preload/core/issuing_thread.h"
#include "bindings/preload/core/probe.h"
#include "bindings/preload/shared_memory/attachment.h"

namespace optile::preload {

enum class ExecutorFlow : uint32_t { kUnheard, kConcurrent, kSerial, kAdmitted };

inline constexpr uint32_t kMostOpenings = 3;

// Of the step that runs now. Asked at every op, hence in the open.
extern uint32_t executor_flow_now;  // NOLINT(bugprone-dynamic-static-initializers): kUnheard
inline ExecutorFlow executor_flow() {
  return static_cast<ExecutorFlow>(__atomic_load_n(&executor_flow_now, __ATOMIC_RELAXED));
}
// Whether the framework has declared a step: from then on its ops are the executor's alone.
bool executor_has_steps();
// The widest that an op may be which nobody listens to; 0 = not bounded.
uint32_t executor_width_cap();

// A step begins, on any thread.
void begin_executor_step();

// One op, on the stack around its computation. On the thread that computes it; ends with it.
class ExecutorOp {
 public:
  // `instance`: which of those with the same key it is, as its context; 0 = told by what ran before
  // it, as with any issuing thread.
  ExecutorOp(const optile_op_identity& identity, uint64_t instance, ExecutorFlow flow);
  ~ExecutorOp();
  ExecutorOp(const ExecutorOp&) = delete;
  ExecutorOp& operator=(const ExecutorOp&) = delete;

  // As the end of its life, and nothing the second time: where no destructor runs, since an
  // exception leaves its computation (support/run_with_cleanup.h).
  void end();

 private:
  void begin_serial(const optile_op_identity& identity, uint64_t instance);
  void begin_concurrent(const optile_op_identity& identity);
  void begin_admitted(const optile_op_identity& identity);
  void open();
  void end_serial();
  void end_concurrent();
  void tell_concurrent(const Attachment& attached, uint64_t now) const;

  ExecutorFlow flow_ = ExecutorFlow::kUnheard;  // what it passes by
  IssuingThread* before_ = nullptr;
  optile_open_op open_ = {};
  uint64_t instance_ = 0;
  uint64_t begin_ = 0;
  uint32_t id_ = 0;
  bool is_counted_ = false;  // among the open ones, and told of
  bool beside_others_ = false;
  bool steerable_ = false;
  AdmittedOp admitted_;
  int knob_before_ = 0;
};

// An op too small to be told of passed, which takes so long by its latest measurements.
void count_small_op(uint64_t ticks);

}  // namespace optile::preload
