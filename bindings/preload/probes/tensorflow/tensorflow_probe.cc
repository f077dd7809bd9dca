#include "bindings/preload/probes/tensorflow/tensorflow_probe.h"

#include <string.h>

#include "bindings/preload/actuators/width_actuator.h"
#include "bindings/preload/core/executor_issuer.h"
#include "bindings/preload/core/op_boundary.h"
#include "bindings/preload/probes/tensorflow/kernel_table.h"
#include "bindings/preload/probes/tensorflow/pool_views.h"
#include "bindings/preload/probes/tensorflow/step_function.h"
#include "bindings/preload/shared_memory/attachment.h"
#include "bindings/preload/support/environment.h"
#include "bindings/preload/support/run_with_cleanup.h"
#include "bindings/preload/support/shim_clock.h"

namespace optile::preload {
namespace {

// An execution that is over sooner costs too much to be told of.
constexpr uint64_t kSmallMicroseconds = 20;

using Call = TensorflowCall::Kind;

// Of the calling thread: the call that it is inside of, and how wide the kernel on it may be; 0 =
// as wide as the pool. Small, as is what loads with a program.
thread_local Call open_call = Call::kNone;
thread_local uint8_t narrow_to = 0;

bool computes_op() {
  return open_call == Call::kEagerOp;
}

uint32_t open_functions = 0;  // outermost ones
uint32_t begins_step = 0;     // with the first kernel that computes
StepFunction step_function;   // of who finds no function open

int threads_of_pool() {
  return pool_threads();
}

int set_width(int width) {
  const int before = narrow_to;
  narrow_to = static_cast<uint8_t>(width > 0 && width <= kWidestView ? width : 0);
  return before;
}

constexpr CountKnob kKnob = {.get = threads_of_pool, .set = set_width};

bool is_prepared(const TensorflowFunctions& functions, void* device) {
  if (!functions.can_tell_kernels() || environment().off || is_forked_child()) return false;
  if (!learn_pool(functions, device)) return true;
  choose_knob_of_framework(reinterpret_cast<const void*>(functions.compute), kKnob);
  return true;
}

uint64_t small_ticks() {
  const Attachment* attached = attachment();
  const uint64_t rate =
      attached == nullptr ? 0 : optile_load64(&attached->client->header.ticks_per_second);
  return rate / 1'000'000 * kSmallMicroseconds;
}

// What an op's record is made from, while the kernel computes.
struct Source {
  const TensorflowFunctions* functions;
  const void* kernel;
  const void* context;
};

void describe(const void* source, char name[OPTILE_NAME_BYTES], char shape[OPTILE_SHAPE_BYTES]) {
  const auto* from = static_cast<const Source*>(source);
  TraceText trace = {};
  from->functions->trace(&trace, from->kernel, from->context, true);
  describe_kernel(trace.text, name, shape);
  if (trace.is_elsewhere()) from->functions->free_text(trace.text);
}

// A kernel that computes as an op. An exception may leave it: a custom one of the program's own
// throws, or memory is short, on a thread where somebody catches it.
struct Computation {
  const TensorflowFunctions* functions;
  void* device;
  void* kernel;
  void* context;
  ExecutorOp* op;

  static void run(void* what) {
    const auto* it = static_cast<const Computation*>(what);
    it->functions->compute(it->device, it->kernel, it->context);
  }
  static void end(void* what) { static_cast<const Computation*>(what)->op->end(); }
};

void compute_heard(const TensorflowFunctions& functions, void* device, void* kernel, void* context,
                   ExecutorFlow flow) {
  Kernel* known = find_kernel(kernel);
  if (known != nullptr && known->kind() == KernelKind::kSmall) count_small_op(known->mean);
  if (known == nullptr || known->kind() == KernelKind::kSmall ||
      known->kind() == KernelKind::kLeft) {
    functions.compute(device, kernel, context);
    return;
  }
  look_at_kernel(known, functions, context);
  if (known->kind() == KernelKind::kLeft) {
    functions.compute(device, kernel, context);
    return;
  }
  const Source source = {&functions, kernel, context};
  const uint32_t flags =
      knob_is_steered_by(reinterpret_cast<const void*>(kKnob.set)) ? 0u : OPTILE_OP_FIXED;
  const optile_op_identity identity = {known->key, flags, OPTILE_PROBE_TENSORFLOW, describe,
                                       &source};
  // Ops that the program issues one by one are known by their order, as elsewhere.
  ExecutorOp op(identity, computes_op() ? 0 : known->instance, flow);
  Computation computation = {&functions, device, kernel, context, &op};
  const uint64_t begin = ticks();
  run_with_cleanup(Computation::run, &computation, Computation::end);
  note_execution(known, ticks() - begin, small_ticks());
}

}  // namespace

void compute_kernel(const TensorflowFunctions& functions, void* device, void* kernel,
                    void* context) {
  if (!is_prepared(functions, device)) {
    functions.compute(device, kernel, context);
    return;
  }
  ExecutorFlow flow = ExecutorFlow::kUnheard;
  if (computes_op()) {
    const bool issued_alone = !executor_has_steps() && at_depth_0() != 0;
    flow = issued_alone ? ExecutorFlow::kSerial : ExecutorFlow::kUnheard;
  } else {
    if (__atomic_load_n(&begins_step, __ATOMIC_RELAXED) != 0 &&
        __atomic_exchange_n(&begins_step, 0, __ATOMIC_RELAXED) != 0) {
      begin_executor_step();
      publish_default_width(threads_of_pool());
    }
    flow = executor_flow();
  }
  if (flow == ExecutorFlow::kUnheard) {
    functions.compute(device, kernel, context);
  } else {
    compute_heard(functions, device, kernel, context, flow);
  }
}

const void* narrowed_eigen_device(const TensorflowFunctions& functions, const void* own) {
  const int width = narrow_to != 0 ? narrow_to : static_cast<int>(executor_width_cap());
  return width == 0 ? nullptr : eigen_device_view(functions, own, width);
}

const CpuWorkers* narrowed_workers(const TensorflowFunctions& functions, const CpuWorkers* own) {
  const int width = narrow_to != 0 ? narrow_to : static_cast<int>(executor_width_cap());
  return width == 0 ? nullptr : workers_view(functions, own, width);
}

TensorflowCall::Kind TensorflowCall::kind_of(const char* name) {
  if (name == nullptr) return Kind::kEagerOp;
  if (strncmp(name, "__backward_", strlen("__backward_")) == 0) return Kind::kPartOfStep;
  return strncmp(name, "__", 2) == 0 ? Kind::kFunction : Kind::kEagerOp;
}

TensorflowCall::TensorflowCall(Kind kind, uint64_t function)
    : outermost_(open_call == Kind::kNone) {
  if (!outermost_) return;
  open_call = kind;
  if (kind != Kind::kFunction) return;
  // One that comes while another one is open may be made inside of it.
  const bool alone = __atomic_fetch_add(&open_functions, 1, __ATOMIC_ACQ_REL) == 0;
  if (alone && step_function.begins_step(function)) {
    __atomic_store_n(&begins_step, 1, __ATOMIC_RELAXED);
  }
}

TensorflowCall::~TensorflowCall() {
  end();
}

void TensorflowCall::end() {
  if (!outermost_) return;
  outermost_ = false;
  if (open_call == Kind::kFunction) {
    __atomic_store_n(&begins_step, 0, __ATOMIC_RELAXED);
    __atomic_fetch_sub(&open_functions, 1, __ATOMIC_ACQ_REL);
  }
  open_call = Kind::kNone;
}

}  // namespace optile::preload
