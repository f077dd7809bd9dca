#include "bindings/preload/probes/tbb/tbb_functions.h"

#include "bindings/preload/runtimes/library_function.h"
#include "bindings/preload/runtimes/object_base.h"
#include "bindings/preload/support/per_address.h"

namespace optile::preload {
namespace {

// With the types of their arguments, the same since 2021.1.
LibraryFunction functions[kTbbFunctions] = {
    {"_ZN3tbb6detail2r116execute_and_wait"
     "ERNS0_2d14taskERNS2_18task_group_contextERNS2_12wait_contextES6_"},
    {"_ZN3tbb6detail2r14waitERNS0_2d112wait_contextERNS2_18task_group_contextE"},
    {"_ZN3tbb6detail2r17enqueueERNS0_2d14taskEPNS2_15task_arena_baseE"},
    {"_ZN3tbb6detail2r17enqueueERNS0_2d14taskERNS2_18task_group_contextEPNS2_15task_arena_baseE"},
    {"_ZN3tbb6detail2r15spawnERNS0_2d14taskERNS2_18task_group_contextE"},
    {"_ZN3tbb6detail2r15spawnERNS0_2d14taskERNS2_18task_group_contextEt"},
    {"_ZN3tbb6detail2r16submitERNS0_2d14taskERNS2_18task_group_contextEPNS1_5arenaEm"},
    {"_ZN3tbb6detail2r117parallel_pipelineERNS0_2d118task_group_contextEmRKNS2_11filter_nodeE"},
    {"_ZN3tbb6detail2r17destroyERNS0_2d118task_group_contextE"},
    {"_ZN3tbb6detail2r127global_control_active_valueEi"},
};

struct Found {
  void* function[kTbbFunctions];
};

PerAddress<Found, 64> found_for;  // by object_key()

Found ask(const void* inside) {
  Found found;
  for (int i = 0; i < kTbbFunctions; ++i) found.function[i] = function_behind(functions[i], inside);
  return found;
}

}  // namespace

void* tbb_function(TbbFunction function, const void* inside) {
  const auto index = static_cast<int>(function);
  void* everywhere = __atomic_load_n(&functions[index].everywhere, __ATOMIC_ACQUIRE);
  if (everywhere != nullptr) return everywhere;
  return found_for.get(object_key(inside), ask).function[index];
}

}  // namespace optile::preload
