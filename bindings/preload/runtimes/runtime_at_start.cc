#include "bindings/preload/runtimes/runtime_at_start.h"

#include <dlfcn.h>
#include <stddef.h>
#include <string.h>

#include "bindings/preload/runtimes/runtime_resolver.h"

namespace optile::preload {
namespace {

// Whatever a region asks for on its way; the first tells whether there is a runtime.
constexpr const char* kNames[] = {
    kGetMaxThreads,
    kInParallel,
    kGetThreadNum,
    kSetNumThreads,
    "omp_get_num_threads",
    "kmp_get_blocktime",
    "kmp_set_blocktime",
    "GOMP_parallel",
    "GOMP_parallel_loop_static",
    "GOMP_parallel_loop_dynamic",
    "GOMP_parallel_loop_guided",
    "GOMP_parallel_loop_runtime",
    "GOMP_parallel_loop_nonmonotonic_dynamic",
    "GOMP_parallel_loop_nonmonotonic_guided",
    "GOMP_parallel_loop_nonmonotonic_runtime",
    "GOMP_parallel_loop_maybe_nonmonotonic_runtime",
    "GOMP_parallel_sections",
    "GOMP_parallel_reductions",
    "GOMP_parallel_start",
    "GOMP_parallel_sections_start",
    "GOMP_parallel_loop_static_start",
    "GOMP_parallel_loop_dynamic_start",
    "GOMP_parallel_loop_guided_start",
    "GOMP_parallel_loop_runtime_start",
    "__kmpc_fork_call",
    "__kmpc_fork_call_if",
    "__kmpc_fork_teams",
    "__kmpc_push_num_threads",
    "__kmpc_serialized_parallel",
};
constexpr size_t kCount = sizeof kNames / sizeof kNames[0];

void* found[kCount];

}  // namespace

void find_runtime_at_start() {
  for (size_t i = 0; i < kCount; ++i) {
    void* next = dlsym(RTLD_NEXT, kNames[i]);
    if (next != nullptr && !is_ours(next)) found[i] = next;
    if (i == 0 && found[i] == nullptr) break;
  }
  dlerror();  // what is missing is nothing for the program to find
}

void* found_at_start(const char* symbol) {
  if (found[0] == nullptr) return nullptr;
  for (size_t i = 0; i < kCount; ++i) {
    if (strcmp(kNames[i], symbol) == 0) return found[i];
  }
  return nullptr;
}

}  // namespace optile::preload
