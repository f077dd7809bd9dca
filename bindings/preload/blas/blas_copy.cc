#include "bindings/preload/blas/blas_copy.h"

#include "bindings/preload/blas/blas_pool.h"
#include "bindings/preload/per_address.h"
#include "bindings/preload/runtime_resolver.h"
#include "bindings/preload/width_actuator.h"

namespace optile::preload {
namespace {

struct BlasCopy {
  int parallel = 0;  // openblas_get_parallel(): 1 threads of its own, 2 OpenMP; 0 otherwise
  const void* set_num_threads = nullptr;  // of those threads, or of that OpenMP
};
PerAddress<BlasCopy, 128> copies;  // eight functions in each library

BlasCopy ask(const void* gemm) {
  BlasCopy copy;
  const OpenblasFunctions openblas = openblas_seen_by(gemm);
  if (openblas.get_parallel == nullptr) return copy;
  copy.parallel = openblas.get_parallel();
  if (copy.parallel == 1) {
    copy.set_num_threads = reinterpret_cast<const void*>(openblas.set_num_threads);
  }
  if (copy.parallel == 2) copy.set_num_threads = resolve_for(gemm, "omp_set_num_threads");
  return copy;
}

}  // namespace

bool follows_steered_width(const void* gemm) {
  const BlasCopy copy = copies.get(gemm, ask);
  if (copy.parallel == 0 || copy.set_num_threads == nullptr) return false;
  choose_runtime_of_library(gemm);
  const OpenmpRuntime* runtime = steered_runtime();
  if (copy.parallel == 2) {
    return runtime != nullptr &&
           reinterpret_cast<const void*>(runtime->set_num_threads) == copy.set_num_threads;
  }
  const BlasPool* pool = steered_pool();
  return pool != nullptr &&
         reinterpret_cast<const void*>(pool->set_num_threads) == copy.set_num_threads;
}

}  // namespace optile::preload
