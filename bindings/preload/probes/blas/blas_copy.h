// Whether the width of a BLAS library can be set, and by what. Several copies in one process are
// normal.
#pragma once

#include "bindings/preload/actuators/width_actuator.h"

namespace optile::preload {

// What the library that holds `gemm` takes its width from: the OpenMP runtime or the threads of an
// OpenBLAS, which are the copy's own where something else is steered; MKL's count only where that
// is what is steered. Where nothing is steered yet, its own runtime or threads are from now on.
// Others (BLIS, the reference) do not say.
WidthOfCopy width_of_blas(const void* gemm);
bool follows_steered_width(const void* gemm);  // the same, in short

}  // namespace optile::preload
