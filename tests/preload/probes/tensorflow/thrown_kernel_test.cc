// A C++ exception that leaves a kernel: what the kernel held for others is given back, and its
// thread is as before. Every test is a process of its own.
#include <gtest/gtest.h>

#include <cstdlib>
#include <new>
#include <thread>

#include "bindings/preload/core/executor_issuer.h"
#include "bindings/preload/probes/tensorflow/tensorflow_probe.h"
#include "bindings/preload/support/run_with_cleanup.h"
#include "tests/preload/fixtures/boundary_fixture.h"

namespace optile::preload {
namespace {

using test::FakeDaemon;

constexpr uint32_t kKernels = 4;  // after the one that throws
constexpr uint16_t kNarrow = 2;

struct Thrown {};

// A kernel is a place in memory; this one throws.
char throwing_kernel;
char kernels[kKernels];

TensorflowFunctions executor() {
  TensorflowFunctions functions;
  functions.compute = [](void* /*device*/, void* kernel, void* /*context*/) {
    if (kernel == &throwing_kernel) throw Thrown();
  };
  functions.workers = [](const void* /*device*/) -> const CpuWorkers* {
    static constexpr CpuWorkers workers = {1, nullptr};
    return &workers;
  };
  functions.eigen_device = [](void* device) -> const void* { return device; };
  functions.trace = [](TraceText* text, const void* /*kernel*/, const void* /*context*/,
                       bool /*verbose*/) {
    static char described[] = "node:MatMul#shape=(float[2])#";
    text->text = described;
  };
  functions.free_text = [](void* /*text*/) {};
  return functions;
}

// True: the exception came through.
bool compute_throws(const TensorflowFunctions& functions) {
  try {
    compute_kernel(functions, nullptr, &throwing_kernel, nullptr);
  } catch (const Thrown&) {
    return true;
  }
  return false;
}

void compute_others(const TensorflowFunctions& functions) {
  for (char& kernel : kernels) compute_kernel(functions, nullptr, &kernel, nullptr);
}

uint32_t take_told_ops(FakeDaemon& daemon) {
  uint32_t ops = 0;
  for (const optile_event& event : daemon.take_events()) {
    if (event.kind == OPTILE_EVENT_OP) ++ops;
  }
  return ops;
}

// An op in a frame whose destructors do not run, as in the shim itself.
class FrameOfShim {
 public:
  FrameOfShim(uint64_t key, void (*compute)())
      : op_(new (storage_) ExecutorOp(identity_of(key), key, executor_flow())), compute_(compute) {
    run_with_cleanup([](void* it) { static_cast<FrameOfShim*>(it)->compute_(); }, this,
                     [](void* it) { static_cast<FrameOfShim*>(it)->op_->end(); });
    op_->end();
  }

 private:
  alignas(ExecutorOp) unsigned char storage_[sizeof(ExecutorOp)];
  ExecutorOp* op_;
  void (*compute_)();
};

// How wide the framework lets a kernel on this thread be; 0 = as wide as its pool.
thread_local int width_here = 0;
int set_width_here(int width) {
  const int before = width_here;
  width_here = width;
  return before;
}
int width_of_pool() {
  return kOwn;
}

int seen_width = 0;
void see_width() {
  seen_width = width_here;
}
void see_width_and_throw() {
  see_width();
  throw Thrown();
}

// The width that it saw inside.
int throw_in_op(uint64_t key) {
  try {
    const FrameOfShim frame(key, see_width_and_throw);
  } catch (const Thrown&) {
    return seen_width;
  }
  return 0;
}

class ThrownKernel : public OpBoundary {
 protected:
  static void in_framework(void (*body)(FakeDaemon&)) {
    static void (*inside)(FakeDaemon&);
    inside = body;
    in_unsteered_child([](FakeDaemon& daemon) {
      choose_knob_of_framework(reinterpret_cast<const void*>(&run_op),
                               {.get = width_of_pool, .set = set_width_here});
      inside(daemon);
    });
  }

  // On all threads the ops after the one that throws are told of: nobody waits in vain.
  static void check_told(uint16_t flow) {
    static uint16_t of_step;
    of_step = flow;
    in_child([](FakeDaemon& daemon) {
      attach(daemon);
      daemon.publish({}, 0, [](optile_plan_page& page) { page.flow = of_step; });
      const TensorflowFunctions functions = executor();
      const TensorflowCall call(TensorflowCall::Kind::kFunction, 1);
      compute_others(functions);  // the step begins
      take_told_ops(daemon);
      CHECK_OR_EXIT(compute_throws(functions));
      CHECK_OR_EXIT(take_told_ops(daemon) == 1);
      std::thread(compute_others, functions).join();
      compute_others(functions);
      CHECK_OR_EXIT(take_told_ops(daemon) == 2 * kKernels);
    });
  }
};

TEST_F(ThrownKernel, GivesItsTurnBack) {
  check_told(OPTILE_FLOW_SERIAL);
}

TEST_F(ThrownKernel, IsToldOfBesideOthers) {
  check_told(OPTILE_FLOW_FREE);
}

TEST_F(ThrownKernel, GivesItsWidthBack) {
  in_framework([](FakeDaemon& daemon) {
    attach(daemon);
    daemon.publish({{kOp, kNarrow, {}, 0}}, 0,
                   [](optile_plan_page& page) { page.flow = OPTILE_FLOW_SERIAL; });
    begin_executor_step();
    const FrameOfShim first(kOp, see_width);  // as wide as its thread, whatever is planned
    CHECK_OR_EXIT(throw_in_op(kOp) == kNarrow);
    CHECK_OR_EXIT(width_here == 0);
  });
}

TEST_F(ThrownKernel, LeavesTheGate) {
  setenv("OPTILE_BRIDGE_DIR", OPTILE_TEST_LIBRARIES, 1);
  in_framework([](FakeDaemon& daemon) {
    attach(daemon);
    // Either of the two takes all cores.
    daemon.publish({{kOp, kNarrow, {}, 0}, {kOp + 1, kNarrow, {}, 0}}, 0,
                   [](optile_plan_page& page) {
                     page.flow = OPTILE_FLOW_PACKED;
                     page.admitting_cores = kNarrow;
                     page.hardware_threads = kNarrow;
                     for (uint32_t slot = 0; slot < OPTILE_PLAN_SLOTS; ++slot) {
                       if (page.slots[slot].key == 0) continue;
                       optile_plan_menu& menu = page.menus[slot];
                       menu.op = static_cast<uint32_t>(page.slots[slot].key - kOp);
                       menu.per_step = 1;
                       menu.width[0] = kNarrow;
                       menu.seconds[0] = 1;
                     }
                   });
    begin_executor_step();
    CHECK_OR_EXIT(executor_flow() == ExecutorFlow::kAdmitted);
    CHECK_OR_EXIT(throw_in_op(kOp) == kNarrow);
    CHECK_OR_EXIT(width_here == 0);
    // Where it had waited in vain, it would be as wide as it likes.
    std::thread([] { const FrameOfShim frame(kOp + 1, see_width); }).join();
    CHECK_OR_EXIT(seen_width == kNarrow);
  });
}

}  // namespace
}  // namespace optile::preload
