#include "bindings/preload/probes/torch/torch_framework.h"

#include "bindings/preload/actuators/width_actuator.h"
#include "bindings/preload/probes/torch/torch_bridge_file.h"
#include "bindings/preload/shared_memory/attachment.h"
#include "bindings/preload/support/environment.h"

namespace optile::preload {
namespace {

bool torch_comes(const void* core) {
  choose_steered_runtime(core);
  if (open_torch_bridge(core)) return true;
  if (environment().torch_bridge) add_fallback(OPTILE_FALLBACK_BRIDGE_MISSING);
  return false;
}

}  // namespace

constexpr ProbeHooks kTorchHooks = {.framework = "libtorch_cpu.so", .framework_comes = torch_comes};
OPTILE_REGISTER_PROBE(kTorchHooks);

}  // namespace optile::preload
