// Notices frameworks that have a probe library of their own and opens it: PyTorch's bridge, the
// first time that an OpenMP call comes out of libtorch_cpu.
#pragma once

namespace optile::preload {

// Cheap after the first call per call site's object; never fails towards the caller.
void notice_framework(const void* caller);

// The object around `caller` is the framework's core (libtorch_cpu), which initialises itself,
// unlike its bindings, through which the program's user speaks.
bool is_framework_core(const void* caller);
// An address inside the core, wherever it was loaded; null when it was not.
const void* framework_core();

// True once a probe of a framework is at work: regions outside its ops are then left out of the
// sequence of ops.
bool framework_probe_active();

}  // namespace optile::preload
