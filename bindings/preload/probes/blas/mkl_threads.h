// The number of threads that MKL keeps for the calling thread. Where it is set it stands before
// MKL's own for the process and before OpenMP's.
#pragma once

#include "bindings/preload/actuators/count_knob.h"

namespace optile::preload {

// Of the library that holds `gemm`; unusable where that is no MKL, or one whose threads do not
// follow (on oneTBB), or where the user keeps the BLAS's threads. Called from inside a product,
// since it makes MKL load its threads. Slow.
CountKnob mkl_knob(const void* gemm);

}  // namespace optile::preload
