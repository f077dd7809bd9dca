// PyTorch as a framework whose probe is a library of its own, the bridge.
#pragma once

#include "bindings/preload/support/probe_hooks.h"

namespace optile::preload {

// NOLINTNEXTLINE(bugprone-dynamic-static-initializers): a constant
extern const ProbeHooks kTorchHooks;

}  // namespace optile::preload
