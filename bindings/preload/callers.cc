#include "bindings/preload/callers.h"

#include <errno.h>
#include <stdint.h>

#include "bindings/preload/runtime_resolver.h"

namespace optile::preload {
namespace {

constexpr uint32_t kCallers = 256;  // those beyond are asked every time

struct Caller {
  const void* address;
  InParallel in_parallel;
  uint32_t known;
};
Caller callers[kCallers];

}  // namespace

InParallel in_parallel_of(const void* caller) {
  const uint64_t mixed = reinterpret_cast<uintptr_t>(caller) * UINT64_C(0x9e3779b97f4a7c15);
  Caller& slot = callers[(mixed >> 32) % kCallers];
  const void* there = __atomic_load_n(&slot.address, __ATOMIC_ACQUIRE);
  if (there == caller && __atomic_load_n(&slot.known, __ATOMIC_ACQUIRE) != 0) {
    return slot.in_parallel;
  }
  const int kept_errno = errno;
  const auto found = reinterpret_cast<InParallel>(resolve_for(caller, "omp_in_parallel"));
  errno = kept_errno;
  if (there == nullptr && __atomic_compare_exchange_n(&slot.address, &there, caller, false,
                                                      __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) {
    slot.in_parallel = found;
    __atomic_store_n(&slot.known, 1, __ATOMIC_RELEASE);
  }
  return found;
}

bool is_on_a_worker(const void* caller) {
  const InParallel in_parallel = in_parallel_of(caller);
  return in_parallel != nullptr && in_parallel() != 0;
}

}  // namespace optile::preload
