#include "bindings/preload/runtimes/runtime_resolver.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "base/hash.h"
#include "bindings/preload/runtimes/library_function.h"
#include "bindings/preload/runtimes/object_base.h"
#include "bindings/preload/runtimes/object_imports.h"
#include "bindings/preload/runtimes/runtime_at_start.h"
#include "bindings/preload/runtimes/runtimes_in_use.h"
#include "bindings/preload/runtimes/team_data.h"
#include "bindings/preload/support/unloading.h"

// Where the object that this is linked into begins and ends; the linker's.
extern "C" {
extern const char __ehdr_start[] __attribute__((visibility("hidden")));
extern const char _end[] __attribute__((visibility("hidden")));
}

namespace optile::preload {
namespace {

constexpr uint32_t kMeanings = 1024;  // beyond that every call resolves anew: slow, still right
constexpr uint32_t kProbes = 16;

// What an object means by a name, anywhere in its code.
struct Meaning {
  const void* where;   // object_key() of its code
  const char* symbol;  // compared by address: callers pass literals
  void* found;
  uint32_t made;  // unloadings() of that time
};
Meaning meanings[kMeanings];

uint32_t first_place(const void* where, const char* symbol) {
  // An object asks for several symbols, whose addresses differ in their last digits only.
  const uint64_t mixed =
      base::mix64(reinterpret_cast<uintptr_t>(where) ^ (reinterpret_cast<uintptr_t>(symbol) << 32));
  return static_cast<uint32_t>(mixed >> 40) % kMeanings;
}

// A weak need may stay unanswered.
bool take_openmp(const char* name, bool weak, void* /*context*/) {
  return !weak &&
         (strncmp(name, "GOMP_", 5) == 0 || strncmp(name, "omp_", 4) == 0 || is_llvm_name(name));
}

struct Asking {
  const void* address;
  bool uses_openmp;
};

int look_at_one(dl_phdr_info* object, size_t /*size*/, void* to) {
  auto* asking = static_cast<Asking*>(to);
  if (!holds_address(*object, asking->address)) return 0;
  asking->uses_openmp = visit_needs(*object, take_openmp, nullptr);
  return 1;
}

// Whether the object around `caller` needs an OpenMP runtime, linked with one or not. A library
// with threads of its own needs none, and none that is loaded for others is its.
bool uses_openmp(const void* caller) {
  Asking asking = {caller, false};
  dl_iterate_phdr(look_at_one, &asking);
  return asking.uses_openmp;
}

template <typename Function>
void take(Function*& function, const void* caller, const char* symbol) {
  function = reinterpret_cast<Function*>(resolve_for(caller, symbol));
}

}  // namespace

bool is_ours(const void* address) {
  const auto* byte = static_cast<const char*>(address);
  return byte >= __ehdr_start && byte < _end;
}

void keep_loaded(const void* address) {
  static const char* latest = nullptr;  // most addresses in a row lie in one object
  // The program itself has no name to be asked for by, and to ask in vain would leave it an error
  // to read.
  const char* library = library_of(address);
  if (library[0] == '\0' || __atomic_exchange_n(&latest, library, __ATOMIC_RELAXED) == library) {
    return;
  }
  // The handle is kept.
  dlopen(library, RTLD_NOLOAD | RTLD_LAZY);
}

namespace {

// A function that `caller`, where there is one, calls in its own object is there while it calls.
void keep_for(const void* caller, const void* found) {
  if (caller == nullptr || !is_of_same_object(found, caller)) keep_loaded(found);
}

// As the object of that path sees it. What is found stays loaded, since it will be called; the
// object itself need not.
void* find_through(const char* path, const char* symbol, const void* caller) {
  void* object = dlopen(path, RTLD_NOLOAD | RTLD_LAZY);
  if (object == nullptr) return nullptr;
  void* found = dlsym(object, symbol);
  if (found != nullptr && is_ours(found)) found = nullptr;
  if (found != nullptr) keep_for(caller, found);
  dlclose(object);
  return found;
}

}  // namespace

void* resolve_for(const void* caller, const char* symbol) {
  if (void* found = found_at_start(symbol)) return found;
  void* found = dlsym(RTLD_NEXT, symbol);
  if (found != nullptr && !is_ours(found)) {
    keep_for(caller, found);
    return found;
  }
  const char* path = object_of(caller);
  return path[0] == '\0' ? nullptr : find_through(path, symbol, caller);
}

void* own_function(const void* inside, const char* symbol) {
  Dl_info here = {};
  if (dladdr(inside, &here) == 0 || here.dli_fname == nullptr) return nullptr;
  void* found = find_through(here.dli_fname, symbol, nullptr);
  Dl_info there = {};
  const bool own = found != nullptr && dladdr(found, &there) != 0;
  return own && there.dli_fbase == here.dli_fbase ? found : nullptr;
}

void* resolve_cached(const void* caller, const char* symbol) {
  const void* where = object_key(caller);
  uint32_t at = first_place(where, symbol);
  for (uint32_t probe = 0; probe < kProbes; ++probe, at = (at + 1) % kMeanings) {
    const Meaning& one = meanings[at];
    const void* known = __atomic_load_n(&one.where, __ATOMIC_ACQUIRE);
    if (known == nullptr) break;
    if (known != where || __atomic_load_n(&one.symbol, __ATOMIC_ACQUIRE) != symbol) continue;
    if (__atomic_load_n(&one.made, __ATOMIC_ACQUIRE) != unloadings()) break;
    return __atomic_load_n(&one.found, __ATOMIC_ACQUIRE);
  }
  void* found = resolve_for(caller, symbol);
  const bool llvm = is_llvm_name(symbol);
  if (llvm || strncmp(symbol, "GOMP_", 5) == 0) {
    note_runtime_in_use(object_of(found), llvm);
    note_team_of_object(caller);
  }
  if (found != nullptr) remember_meaning(caller, symbol, found);
  return found;
}

void remember_meaning(const void* caller, const char* symbol, void* found) {
  const uint32_t now = unloadings();
  const void* where = object_key(caller);
  uint32_t at = first_place(where, symbol);
  for (uint32_t probe = 0; probe < kProbes; ++probe, at = (at + 1) % kMeanings) {
    Meaning& one = meanings[at];
    const void* nobody = nullptr;
    if (!__atomic_compare_exchange_n(&one.where, &nobody, where, false, __ATOMIC_ACQ_REL,
                                     __ATOMIC_ACQUIRE) &&
        (nobody != where || __atomic_load_n(&one.symbol, __ATOMIC_ACQUIRE) != symbol)) {
      continue;
    }
    __atomic_store_n(&one.found, found, __ATOMIC_RELEASE);
    __atomic_store_n(&one.made, now, __ATOMIC_RELEASE);
    __atomic_store_n(&one.symbol, symbol, __ATOMIC_RELEASE);
    return;
  }
}

void resolve_runtime(const void* caller, OpenmpRuntime* runtime) {
  static LibraryFunction behind = {kGetMaxThreads};
  void* found = resolve_cached(caller, kGetMaxThreads);
  if (found == nullptr && uses_openmp(caller)) found = search_function(behind, caller);
  if (found == nullptr) return;
  runtime->get_max_threads = reinterpret_cast<int (*)()>(found);
  // Of that very copy.
  take(runtime->set_num_threads, found, kSetNumThreads);
  take(runtime->in_parallel, found, kInParallel);
  take(runtime->get_thread_num, found, kGetThreadNum);
  take(runtime->get_num_threads, found, "omp_get_num_threads");
  if (!runtime->usable()) return;
  const char* path = object_of(reinterpret_cast<const void*>(runtime->get_max_threads));
  snprintf(runtime->path, sizeof runtime->path, "%s", path);
  runtime->kind = runtime_kind(path);
  note_runtime_in_use(path);
  if (runtime->kind != OPTILE_RUNTIME_LLVM) return;
  take(runtime->get_blocktime, found, "kmp_get_blocktime");
  take(runtime->set_blocktime, found, "kmp_set_blocktime");
}

}  // namespace optile::preload
