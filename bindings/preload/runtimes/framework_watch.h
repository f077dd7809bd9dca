// Notices frameworks that have a probe of their own (probe_hooks.h) and has it opened: PyTorch's
// bridge, the first time that an OpenMP call comes out of libtorch_cpu. The first framework that is
// noticed is the process's.
#pragma once

#include "bindings/preload/support/probe_hooks.h"

namespace optile::preload {

// Cheap after the first call per call site's object; never fails towards the caller.
void notice_framework(const void* caller);

// The object around `caller` is the core of `framework` (libtorch_cpu), which initialises itself,
// unlike its bindings, through which the program's user speaks.
bool is_framework_core(const ProbeHooks& framework, const void* caller);
// An address inside that core, wherever it was loaded; null when it was not.
const void* framework_core(const ProbeHooks& framework);

// True once a probe of a framework is at work: regions outside its ops are then left out of the
// sequence of ops.
bool framework_probe_active();

}  // namespace optile::preload
