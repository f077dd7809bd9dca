// The PyTorch bridge: registers with PyTorch's own RecordFunction and reports op boundaries to the
// shim. Built against one minor version of PyTorch; loaded by the shim, linked by nobody.
#include <ATen/record_function.h>

#include <cstring>

#include "bindings/preload/probes/torch/op_key.h"

namespace optile::torch_bridge {
namespace {

const optile_probe_api* shim = nullptr;

// PyTorch calls start and end in strict nesting on one thread, except for asynchronous functions,
// whose end may come elsewhere: an end that is not on this stack is not ours to handle.
constexpr int kMaxOpen = 256;

struct Frame {
  const at::RecordFunction* op = nullptr;
  bool reported = false;
  optile_open_op open = {};
};

struct Stack {
  int depth = 0;  // frames in use; deeper ones are counted but not kept
  Frame frames[kMaxOpen];
};

Stack& stack_of_this_thread() {
  static thread_local Stack stack;
  return stack;
}

// Ops that only call other ops on the same thread and size nothing themselves. They are looked
// through: what they call is the outermost, so that each product and each activation inside a
// recurrent layer gets a width of its own. The engine's wrapper around a backward node is one too,
// in a row with those before it. So are Dynamo's: its look for compiled code compares the number of
// threads with the one that it compiled at, and compiles again where they differ, so the program's
// own count has to be in force there, and in a region that looks again behind a graph break.
// 0 = no composite.
uint32_t composite_flags(const char* name) {
  if (std::strncmp(name, "autograd::engine::", 18) == 0) {
    return OPTILE_OP_COMPOSITE | OPTILE_OP_IN_ROW;
  }
  if (std::strncmp(name, "Torch-Compiled Region", 21) == 0 ||
      std::strcmp(name, "TorchDynamo Cache Lookup") == 0) {
    return OPTILE_OP_COMPOSITE | OPTILE_OP_READS_COUNT;
  }
  static constexpr const char* kComposites[] = {"aten::lstm", "aten::gru", "aten::rnn_tanh",
                                                "aten::rnn_relu"};
  for (const char* composite : kComposites) {
    if (std::strcmp(name, composite) == 0) return OPTILE_OP_COMPOSITE;
  }
  return 0;
}

void report(const at::RecordFunction& op, Frame& frame) {
  if (shim->at_depth_0() != 0) {
    const uint32_t composite_of = composite_flags(op.name());
    if (composite_of != 0) {
      const optile_op_identity composite = {1, composite_of, OPTILE_PROBE_TORCH, describe_name,
                                            &op};
      frame.reported = true;
      shim->op_begin(&composite, &frame.open);
      return;
    }
    const bool backward = op.scope() == at::RecordScope::BACKWARD_FUNCTION;
    const uint32_t flags = backward ? uint32_t{OPTILE_OP_BACKWARD} : uint32_t{0};
    const optile_op_identity identity = {key_of_instance(op), flags, OPTILE_PROBE_TORCH,
                                         describe_instance, &op};
    frame.reported = true;
    shim->op_begin(&identity, &frame.open);
    return;
  }
  if (shim->nested_wanted() == 0) return;
  const optile_op_identity identity = {key_of_name(op.name()) ^ OPTILE_OP_NESTED, OPTILE_OP_NESTED,
                                       OPTILE_PROBE_TORCH, describe_name, &op};
  frame.reported = true;
  shim->op_begin(&identity, &frame.open);
}

std::unique_ptr<at::ObserverContext> on_start(const at::RecordFunction& op) {
  Stack& stack = stack_of_this_thread();
  if (stack.depth < kMaxOpen) {
    // Before it is asked anything: what answers may be an op itself.
    Frame& frame = stack.frames[stack.depth++];
    frame.op = &op;
    frame.reported = false;
    report(op, frame);
  }
  return nullptr;
}

void on_end(const at::RecordFunction& op, at::ObserverContext* /*context*/) {
  Stack& stack = stack_of_this_thread();
  int found = stack.depth - 1;
  while (found >= 0 && stack.frames[found].op != &op) --found;
  if (found < 0) return;
  // Whatever is still open above was left without an end: close it too, innermost first.
  while (stack.depth > found) {
    Frame& frame = stack.frames[--stack.depth];
    if (frame.reported) shim->op_end(&frame.open);
  }
}

at::CallbackHandle handle = at::INVALID_CALLBACK_HANDLE;

// PyTorch leaves out all its preparations for an op while no callback asks for them.
void listen(int on) {
  try {
    if (on != 0) {
      at::reenableCallback(handle);
    } else {
      at::disableCallback(handle);
    }
  } catch (...) {
    return;  // then it goes on as it was
  }
}

// Named ranges that a program or PyTorch's own optimizers open: once or a few times in a step.
std::unique_ptr<at::ObserverContext> on_range(const at::RecordFunction& /*range*/) {
  shim->landmark();
  return nullptr;
}

}  // namespace
}  // namespace optile::torch_bridge

extern "C" __attribute__((visibility("default"))) int optile_probe_start(
    const optile_probe_api* api) {
  if (api == nullptr || api->version != OPTILE_PROBE_API_VERSION ||
      api->bytes != sizeof(optile_probe_api)) {
    return 1;
  }
  optile::torch_bridge::shim = api;
  try {
    using optile::torch_bridge::handle;
    handle = at::addGlobalCallback(
        at::RecordFunctionCallback(optile::torch_bridge::on_start, optile::torch_bridge::on_end)
            .needsInputs(true)
            .scopes({at::RecordScope::FUNCTION, at::RecordScope::BACKWARD_FUNCTION}));
    at::addGlobalCallback(at::RecordFunctionCallback(optile::torch_bridge::on_range)
                              .scopes({at::RecordScope::USER_SCOPE}));
    api->offer_sampling_pause(optile::torch_bridge::listen);
  } catch (...) {
    return 1;
  }
  return 0;
}
