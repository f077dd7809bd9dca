// Whether the width of a BLAS library can be set. Several copies in one process are normal.
#pragma once

namespace optile::preload {

// Whether the library that holds `gemm` takes its width from what is steered now: OpenBLAS on the
// steered OpenMP runtime, or with the steered threads of its own. Where nothing is steered yet, its
// own runtime or threads are from now on. Others (BLIS, MKL, the reference) do not say.
bool follows_steered_width(const void* gemm);

}  // namespace optile::preload
