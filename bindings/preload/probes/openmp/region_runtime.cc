#include "bindings/preload/probes/openmp/region_runtime.h"

#include <string.h>

#include "bindings/preload/runtimes/runtime_resolver.h"
#include "bindings/preload/runtimes/runtimes_in_use.h"
#include "bindings/preload/runtimes/team_data.h"
#include "bindings/preload/support/host_log.h"

namespace optile::preload {
namespace {

constexpr const char* kAskedBeside[] = {kInParallel, kGetMaxThreads, kGetThreadNum, kSetNumThreads};

int told = 0;

}  // namespace

void* region_function(LibraryFunction& function, const void* caller) {
  void* found = resolve_cached(caller, function.name);
  if (found != nullptr) return found;
  found = search_function(function, caller);
  if (found == nullptr) {
    if (__atomic_exchange_n(&told, 1, __ATOMIC_RELAXED) == 0) {
      log_line("no OpenMP runtime is loaded for its regions: they run on one thread",
               object_of(caller));
    }
    return nullptr;
  }
  note_runtime_in_use(object_of(found), is_llvm_name(function.name));
  note_team_of_object(caller);
  for (const char* name : kAskedBeside) {
    void* beside = resolve_for(found, name);
    if (beside != nullptr) remember_meaning(caller, name, beside);
  }
  return found;
}

}  // namespace optile::preload
