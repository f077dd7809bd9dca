#include "bindings/preload/library_function.h"

#include <dlfcn.h>
#include <link.h>
#include <stdio.h>

#include "bindings/preload/runtime_resolver.h"

namespace optile::preload {
namespace {

constexpr int kMostObjects = 4096;

struct Numbered {
  int left;
  char path[512];
};

int copy_name(dl_phdr_info* object, size_t /*size*/, void* to) {
  auto* wanted = static_cast<Numbered*>(to);
  if (wanted->left-- > 0) return 0;
  snprintf(wanted->path, sizeof wanted->path, "%s", object->dlpi_name);
  return 1;
}

// One object after the other: their list may not be walked while one of them is asked.
void* search_all_objects(const char* name) {
  for (int i = 0; i < kMostObjects; ++i) {
    Numbered wanted = {i, ""};
    if (dl_iterate_phdr(copy_name, &wanted) == 0) return nullptr;
    if (wanted.path[0] == '\0') continue;
    void* object = dlopen(wanted.path, RTLD_NOLOAD | RTLD_LAZY);
    if (object == nullptr) continue;
    void* found = dlsym(object, name);
    if (found != nullptr && !is_ours(found)) return found;  // the handle is kept
    dlclose(object);
  }
  return nullptr;
}

// A cached address outlives the wish of the program to unload what it lies in.
void keep_loaded(const void* address) {
  dlopen(object_of(address), RTLD_NOLOAD | RTLD_LAZY);
}

}  // namespace

void* function_behind(LibraryFunction& function, const void* caller) {
  void* everywhere = __atomic_load_n(&function.everywhere, __ATOMIC_ACQUIRE);
  if (everywhere != nullptr) return everywhere;
  if (__atomic_load_n(&function.asked, __ATOMIC_RELAXED) == 0 &&
      __atomic_exchange_n(&function.asked, 1, __ATOMIC_RELAXED) == 0) {
    void* next = dlsym(RTLD_NEXT, function.name);
    if (next != nullptr && !is_ours(next)) {
      keep_loaded(next);
      __atomic_store_n(&function.everywhere, next, __ATOMIC_RELEASE);
      return next;
    }
  }
  void* found = resolve_cached(caller, function.name);
  if (found != nullptr) return found;
  // Called through a tail call out of an object that sees no such library.
  found = __atomic_load_n(&function.somewhere, __ATOMIC_ACQUIRE);
  if (found == nullptr) found = search_all_objects(function.name);
  if (found == nullptr) return nullptr;
  __atomic_store_n(&function.somewhere, found, __ATOMIC_RELEASE);
  remember_call_site(caller, function.name, found);
  return found;
}

}  // namespace optile::preload
