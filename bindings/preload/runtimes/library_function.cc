#include "bindings/preload/runtimes/library_function.h"

#include <dlfcn.h>
#include <link.h>
#include <stdio.h>

#include "bindings/preload/runtimes/object_base.h"
#include "bindings/preload/runtimes/object_imports.h"
#include "bindings/preload/runtimes/runtime_resolver.h"

namespace optile::preload {
namespace {

constexpr int kMostObjects = 4096;

struct Numbered {
  int left;
  const char* needs;  // only objects that need the one of this name; null = all
  char path[512];
};

int copy_name(dl_phdr_info* object, size_t /*size*/, void* to) {
  auto* wanted = static_cast<Numbered*>(to);
  if (wanted->left-- > 0) return 0;
  const bool fits = wanted->needs == nullptr || needs_object(*object, wanted->needs);
  snprintf(wanted->path, sizeof wanted->path, "%s", fits ? object->dlpi_name : "");
  return 1;
}

// One object after the other: their list may not be walked while one of them is asked.
void* search_objects(const char* name, const char* needs) {
  for (int i = 0; i < kMostObjects; ++i) {
    Numbered wanted = {i, needs, ""};
    if (dl_iterate_phdr(copy_name, &wanted) == 0) return nullptr;
    if (wanted.path[0] == '\0') continue;
    void* object = dlopen(wanted.path, RTLD_NOLOAD | RTLD_LAZY);
    if (object == nullptr) continue;
    void* found = dlsym(object, name);
    const bool fits = found != nullptr && !is_ours(found);
    if (fits) keep_loaded(found);
    dlclose(object);
    if (fits) return found;
  }
  return nullptr;
}

int count_loaded(dl_phdr_info* object, size_t /*size*/, void* to) {
  *static_cast<uint64_t*>(to) = object->dlpi_adds;
  return 1;
}

void* search_all(LibraryFunction& function) {
  uint64_t loaded = 0;
  dl_iterate_phdr(count_loaded, &loaded);
  if (__atomic_load_n(&function.in_vain, __ATOMIC_RELAXED) == loaded) return nullptr;
  void* found = search_objects(function.name, nullptr);
  if (found == nullptr) __atomic_store_n(&function.in_vain, loaded, __ATOMIC_RELAXED);
  return found;
}

}  // namespace

void* function_behind(LibraryFunction& function, const void* caller) {
  void* everywhere = __atomic_load_n(&function.everywhere, __ATOMIC_ACQUIRE);
  if (everywhere != nullptr) return everywhere;
  if (__atomic_load_n(&function.asked, __ATOMIC_RELAXED) == 0 &&
      __atomic_exchange_n(&function.asked, 1, __ATOMIC_RELAXED) == 0) {
    void* next = dlsym(RTLD_NEXT, function.name);
    if (next != nullptr && !is_ours(next) && !is_of_same_object(next, caller)) {
      keep_loaded(next);
      __atomic_store_n(&function.everywhere, next, __ATOMIC_RELEASE);
      return next;
    }
  }
  void* found = resolve_cached(caller, function.name);
  return found != nullptr ? found : search_function(function, caller);
}

void* search_function(LibraryFunction& function, const void* caller) {
  const char* object = file_name(object_of(caller));
  void* found = object[0] == '\0' ? nullptr : search_objects(function.name, object);
  if (found == nullptr) found = __atomic_load_n(&function.somewhere, __ATOMIC_ACQUIRE);
  if (found == nullptr) found = search_all(function);
  if (found == nullptr) return nullptr;
  __atomic_store_n(&function.somewhere, found, __ATOMIC_RELEASE);
  remember_meaning(caller, function.name, found);
  return found;
}

}  // namespace optile::preload
