#include "bindings/preload/blas/blas_copy.h"

#include "bindings/preload/runtime_resolver.h"
#include "bindings/preload/width_actuator.h"

namespace optile::preload {
namespace {

constexpr uint32_t kCopies = 64;  // that are remembered; those beyond are asked every time

struct BlasCopy {
  const void* gemm;
  uint32_t known;
  int parallel;  // openblas_get_parallel(): 1 threads of its own, 2 OpenMP; 0 otherwise
  const void* set_num_threads;  // of those threads, or of that OpenMP
};
BlasCopy copies[kCopies];

BlasCopy ask(const void* gemm) {
  BlasCopy copy = {gemm, 1, 0, nullptr};
  const auto kind = reinterpret_cast<int (*)()>(resolve_for(gemm, "openblas_get_parallel"));
  if (kind == nullptr) return copy;
  copy.parallel = kind();
  if (copy.parallel == 1) copy.set_num_threads = resolve_for(gemm, "openblas_set_num_threads");
  if (copy.parallel == 2) copy.set_num_threads = resolve_for(gemm, "omp_set_num_threads");
  return copy;
}

BlasCopy copy_of(const void* gemm) {
  const uint64_t mixed = reinterpret_cast<uintptr_t>(gemm) * UINT64_C(0x9e3779b97f4a7c15);
  BlasCopy& slot = copies[(mixed >> 32) % kCopies];
  const void* there = __atomic_load_n(&slot.gemm, __ATOMIC_ACQUIRE);
  if (there == gemm && __atomic_load_n(&slot.known, __ATOMIC_ACQUIRE) != 0) return slot;
  const BlasCopy found = ask(gemm);
  if (there == nullptr && __atomic_compare_exchange_n(&slot.gemm, &there, gemm, false,
                                                      __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) {
    slot.parallel = found.parallel;
    slot.set_num_threads = found.set_num_threads;
    __atomic_store_n(&slot.known, 1, __ATOMIC_RELEASE);
  }
  return found;
}

}  // namespace

bool follows_steered_width(const void* gemm) {
  const BlasCopy copy = copy_of(gemm);
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
