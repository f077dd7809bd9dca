#include "bindings/preload/callers.h"

#include <errno.h>

#include "bindings/preload/object_base.h"
#include "bindings/preload/per_address.h"
#include "bindings/preload/runtime_resolver.h"

namespace optile::preload {
namespace {

PerAddress<InParallel, 512> found_for;  // by where an object is loaded

InParallel ask(const void* inside) {
  const int kept_errno = errno;
  const auto found = reinterpret_cast<InParallel>(resolve_for(inside, "omp_in_parallel"));
  errno = kept_errno;
  return found;
}

}  // namespace

InParallel in_parallel_of(const void* caller) {
  const void* base = base_of(caller);
  return found_for.get(base != nullptr ? base : caller, ask);
}

bool is_on_a_worker(const void* caller) {
  const InParallel in_parallel = in_parallel_of(caller);
  return in_parallel != nullptr && in_parallel() != 0;
}

}  // namespace optile::preload
