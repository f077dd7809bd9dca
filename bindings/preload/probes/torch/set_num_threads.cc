// at::set_num_threads(int): a symbol of its own, which PyTorch does not call while it initialises
// itself, so that it is always a person's word.
#include "bindings/preload/actuators/default_width_source.h"
#include "bindings/preload/probes/torch/torch_framework.h"
#include "bindings/preload/runtimes/framework_watch.h"
#include "bindings/preload/runtimes/runtime_resolver.h"
#include "bindings/preload/shared_memory/attachment.h"
#include "bindings/preload/support/environment.h"

extern "C" void _ZN2at15set_num_threadsEi(int width) {
  using namespace optile::preload;
  const void* caller = __builtin_return_address(0);
  constexpr const char* kName = "_ZN2at15set_num_threadsEi";
  auto* real = reinterpret_cast<void (*)(int)>(resolve_cached(caller, kName));
  if (real == nullptr) {
    // Called through a tail call out of an object that knows nothing of PyTorch.
    real = reinterpret_cast<void (*)(int)>(resolve_for(framework_core(kTorchHooks), kName));
  }
  if (real == nullptr) return;
  const bool ours =
      environment().off || is_forked_child() || is_framework_core(kTorchHooks, caller);
  // PyTorch throws at a count below one, so nothing of ours may wait behind the call.
  if (!ours && width > 0) {
    notice_framework(framework_core(kTorchHooks));
    note_program_set_width();
  }
  real(width);
}
