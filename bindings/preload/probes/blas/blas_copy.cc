#include "bindings/preload/probes/blas/blas_copy.h"

#include "bindings/preload/actuators/width_actuator.h"
#include "bindings/preload/probes/blas/mkl_threads.h"
#include "bindings/preload/runtimes/blas_pool.h"
#include "bindings/preload/runtimes/runtime_resolver.h"
#include "bindings/preload/support/per_address.h"

namespace optile::preload {
namespace {

struct BlasCopy {
  int parallel = 0;  // openblas_get_parallel(): 1 threads of its own, 2 OpenMP; 0 otherwise
  const void* set_num_threads = nullptr;  // of those threads, or of that OpenMP
  CountKnob mkl;
};
PerAddress<BlasCopy, 128> copies;  // eight functions in each library

BlasCopy ask(const void* gemm) {
  BlasCopy copy;
  copy.mkl = mkl_knob(gemm);
  if (copy.mkl.usable()) return copy;
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

WidthOfCopy width_of_blas(const void* gemm) {
  const BlasCopy copy = copies.get(gemm, ask);
  const auto* mkl_setter = reinterpret_cast<const void*>(copy.mkl.set);
  if (copy.set_num_threads == nullptr && mkl_setter == nullptr) return {};
  choose_runtime_of_library(gemm, copy.mkl);
  if (mkl_setter != nullptr) return {knob_is_steered_by(mkl_setter), nullptr};
  return width_of_copy(gemm, copy.set_num_threads, copy.parallel == 2);
}

bool follows_steered_width(const void* gemm) {
  return width_of_blas(gemm).follows;
}

}  // namespace optile::preload
