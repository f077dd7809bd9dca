#include "bindings/preload/runtimes/blas_pool.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bindings/preload/runtimes/runtime_resolver.h"

namespace optile::preload {
namespace {

// What packages put around OpenBLAS's names: numpy's, scipy's, and those with long integers.
struct Around {
  const char* before;
  const char* behind;
};
constexpr Around kPackaged[] = {{"scipy_", "64_"}, {"scipy_", ""}, {"", "64_"}};

void* named(const void* inside, const Around& around, const char* plain) {
  char name[64];
  snprintf(name, sizeof name, "%s%s%s", around.before, plain, around.behind);
  return own_function(inside, name);
}

template <typename Function>
void take(Function*& function, void* found) {
  function = reinterpret_cast<Function*>(found);
}

}  // namespace

void copy_real_path(const char* path, char* to, size_t bytes) {
  char real[PATH_MAX];
  const char* from = realpath(path, real) == nullptr ? path : real;
  const size_t length = strnlen(from, bytes - 1);
  memcpy(to, from, length);
  to[length] = '\0';
}

OpenblasFunctions openblas_seen_by(const void* inside) {
  OpenblasFunctions functions;
  for (const Around& around : kPackaged) {
    take(functions.get_parallel, named(inside, around, "openblas_get_parallel"));
    if (functions.get_parallel == nullptr) continue;
    take(functions.get_num_threads, named(inside, around, "openblas_get_num_threads"));
    take(functions.set_num_threads, named(inside, around, "openblas_set_num_threads"));
    return functions;
  }
  take(functions.get_parallel, resolve_for(inside, "openblas_get_parallel"));
  if (functions.get_parallel == nullptr) return functions;
  take(functions.get_num_threads, resolve_for(inside, "openblas_get_num_threads"));
  take(functions.set_num_threads, resolve_for(inside, "openblas_set_num_threads"));
  return functions;
}

void resolve_blas(const void* caller, BlasPool* pool) {
  const void* gemm = resolve_for(caller, "sgemm_");
  if (gemm == nullptr) gemm = resolve_for(caller, "cblas_sgemm");
  if (gemm != nullptr) copy_real_path(object_of(gemm), pool->path, sizeof pool->path);
  const OpenblasFunctions openblas = openblas_seen_by(caller);
  if (openblas.get_parallel == nullptr) return;
  copy_real_path(object_of(reinterpret_cast<const void*>(openblas.get_parallel)), pool->path,
                 sizeof pool->path);
  if (openblas.get_parallel() != 1) return;  // on OpenMP it needs nothing
  pool->get_num_threads = openblas.get_num_threads;
  pool->set_num_threads = openblas.set_num_threads;
}

}  // namespace optile::preload
