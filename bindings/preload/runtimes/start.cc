// What the shim does before main, in this order: the runtime that the program was linked with is
// found, told how many threads there are, and the environment is read.
#include <link.h>
#include <stdlib.h>

#include "bindings/preload/runtimes/object_imports.h"
#include "bindings/preload/runtimes/runtime_at_start.h"
#include "bindings/preload/runtimes/runtime_resolver.h"
#include "bindings/preload/runtimes/runtimes_in_use.h"
#include "bindings/preload/support/environment.h"
#include "bindings/preload/support/launched_width.h"

namespace optile::preload {
namespace {

constexpr char kNumThreads[] = "OMP_NUM_THREADS";

constexpr const char* kRuntimes[] = {"libgomp.so.1", "libomp.so.5", "libomp.so", "libiomp5.so"};

bool is_linked_with_openmp() {
  const auto needs = [](dl_phdr_info* object, size_t, void*) -> int {
    for (const char* name : kRuntimes) {
      if (needs_object(*object, name)) return 1;
    }
    return 0;
  };
  return dl_iterate_phdr(needs, nullptr) != 0;
}

// Runtimes that do not ask by getenv get it too.
void report_width_to_runtimes() {
  const uint32_t width = launched_width();
  if (width == 0 && set_variable(kNumThreads) != nullptr) note_reported_width();
  if (width == 0) return;
  void* set_width = found_at_start(kSetNumThreads);
  const uint32_t kind =
      set_width == nullptr ? uint32_t{OPTILE_RUNTIME_UNKNOWN} : runtime_kind(object_of(set_width));
  // LLVM's looks through the environment itself, when it is first used. A Python that it was only
  // preloaded for has others ask.
  if (is_width_to_be_put() || (kind == OPTILE_RUNTIME_LLVM && is_linked_with_openmp())) {
    put_width();
    return;
  }
  if (set_variable(kNumThreads) != nullptr) unsetenv(kNumThreads);
  // A later one than GCC 12's has looked through the environment as well, and found nothing there.
  const auto read_width = reinterpret_cast<int (*)()>(found_at_start(kGetMaxThreads));
  if (kind != OPTILE_RUNTIME_LIBGOMP || read_width == nullptr) return;
  const int most = static_cast<int>(width);
  if (read_width() > most) reinterpret_cast<void (*)(int)>(set_width)(most);
}

__attribute__((constructor)) void start() {
  find_runtime_at_start();
  report_width_to_runtimes();
  read_environment();
}

}  // namespace
}  // namespace optile::preload
