// OpenBLAS's threads: what a copy of it says about them, and how many it is to use. Several copies
// in one process are normal; Python's packages carry their own, with something before or behind
// every name so that they do not meet. Any thread; slow (dynamic linker's lock).
#pragma once

#include <stddef.h>

namespace optile::preload {

// A copy's functions about its threads; null where it has none.
struct OpenblasFunctions {
  int (*get_parallel)() = nullptr;  // 0 sequential, 1 threads of its own, 2 OpenMP
  int (*get_num_threads)() = nullptr;
  void (*set_num_threads)(int) = nullptr;
};
// By the names that the object around `inside` has for them itself, else by the plain ones as that
// object sees them.
OpenblasFunctions openblas_seen_by(const void* inside);

// OpenBLAS with threads of its own, as the object around `caller` sees it.
struct BlasPool {
  int (*get_num_threads)() = nullptr;
  void (*set_num_threads)(int) = nullptr;
  char path[256] = "";  // of the BLAS that is used, steerable or not

  bool steerable() const { return get_num_threads != nullptr && set_num_threads != nullptr; }
};
void resolve_blas(const void* caller, BlasPool* pool);
// Distributions choose a BLAS by links: which one it is stands in the name behind them.
void copy_real_path(const char* path, char* to, size_t bytes);

}  // namespace optile::preload
