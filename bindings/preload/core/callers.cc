#include "bindings/preload/core/callers.h"

#include <errno.h>

#include "bindings/preload/runtimes/object_base.h"
#include "bindings/preload/runtimes/runtime_resolver.h"
#include "bindings/preload/support/per_address.h"

namespace optile::preload {
namespace {

PerAddress<InParallel, 512> found_for;  // by object_key()

InParallel ask(const void* inside) {
  const int kept_errno = errno;
  const auto found = reinterpret_cast<InParallel>(resolve_for(inside, "omp_in_parallel"));
  errno = kept_errno;
  return found;
}

}  // namespace

InParallel in_parallel_of(const void* caller) {
  return found_for.get(object_key(caller), ask);
}

bool is_on_a_worker(const void* caller) {
  const InParallel in_parallel = in_parallel_of(caller);
  return in_parallel != nullptr && in_parallel() != 0;
}

}  // namespace optile::preload
