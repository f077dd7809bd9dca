#include "bindings/preload/support/unloading.h"

#include <dlfcn.h>
#include <link.h>
#include <stddef.h>

namespace optile::preload {
namespace {

uint64_t last_count = 0;

int read_count(dl_phdr_info* object, size_t /*size*/, void* to) {
  *static_cast<uint64_t*>(to) = object->dlpi_subs;
  return 1;
}

// Most calls unload nothing: somebody else still needs the object.
void note_unloading() {
  uint64_t count = 0;
  dl_iterate_phdr(read_count, &count);
  if (__atomic_exchange_n(&last_count, count, __ATOMIC_RELAXED) != count) {
    __atomic_add_fetch(&unloadings_so_far, 1, __ATOMIC_RELEASE);
  }
}

}  // namespace
}  // namespace optile::preload

extern "C" __attribute__((visibility("default"))) int dlclose(void* handle) noexcept {
  using Close = int (*)(void*);
  static Close next = nullptr;
  Close close = __atomic_load_n(&next, __ATOMIC_RELAXED);
  if (close == nullptr) {
    close = reinterpret_cast<Close>(dlsym(RTLD_NEXT, "dlclose"));
    if (close == nullptr) return -1;  // whoever asks for it has it
    __atomic_store_n(&next, close, __ATOMIC_RELAXED);
  }
  const int result = close(handle);
  optile::preload::note_unloading();
  return result;
}
