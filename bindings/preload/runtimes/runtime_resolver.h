// Which OpenMP runtime, and which copy of it, a piece of the program is bound to. Resolved as the
// dynamic linker would without the shim: global scope behind us first (that is how a preloaded
// libomp wins), else the scope of the object that calls (libraries opened RTLD_LOCAL: every Python
// extension). Never one pointer for two copies. Any thread; cached, fixed size, no allocation of
// ours after the first call from an object.
#pragma once

#include <stdint.h>

#include "bindings/abi/layout.h"
#include "bindings/preload/runtimes/loaded_object.h"

namespace optile::preload {

// `symbol` as the object around `caller` would see it, or null. What is found stays loaded from
// then on, where it is not the caller's own. Slow (dynamic linker's lock).
void* resolve_for(const void* caller, const char* symbol);

// `symbol` where the object around `inside` has it itself, else null: what it merely sees belongs
// to somebody else. Slow.
void* own_function(const void* inside, const char* symbol);

// The same as resolve_for(), remembered per (object around the caller, symbol): a new place in an
// object that is known, or a new thread there, does not wait for the linker.
void* resolve_cached(const void* caller, const char* symbol);
// From now on resolve_cached() says `found` for an object that sees no `symbol` itself.
void remember_meaning(const void* caller, const char* symbol, void* found);

// Symbols that several files ask for: they are compared by address.
inline constexpr char kInParallel[] = "omp_in_parallel";
inline constexpr char kGetMaxThreads[] = "omp_get_max_threads";
inline constexpr char kGetThreadNum[] = "omp_get_thread_num";
inline constexpr char kSetNumThreads[] = "omp_set_num_threads";

struct OpenmpRuntime {
  int (*get_max_threads)() = nullptr;
  void (*set_num_threads)(int) = nullptr;
  int (*in_parallel)() = nullptr;
  int (*get_thread_num)() = nullptr;
  int (*get_num_threads)() = nullptr;
  // LLVM's only: milliseconds that idle threads of the calling thread's teams spin. Null elsewhere.
  int (*get_blocktime)() = nullptr;
  void (*set_blocktime)(int) = nullptr;
  uint32_t kind = OPTILE_RUNTIME_UNKNOWN;  // optile_runtime
  char path[256] = "";

  bool knows_teams() const { return get_thread_num != nullptr && get_num_threads != nullptr; }
  bool usable() const {
    return get_max_threads != nullptr && set_num_threads != nullptr && in_parallel != nullptr;
  }
};
// That of the object around `caller`; where it needs OpenMP and sees none itself, the one that it
// was loaded with, else any. Slow.
void resolve_runtime(const void* caller, OpenmpRuntime* runtime);

// Whether `address` lies in the shim itself.
bool is_ours(const void* address);

// The library that holds `address` is not unloaded any more, whatever the program closes: for those
// whose functions are called. Never for the program's own code, which it may have built anew and
// load again (unloading.h). Slow.
void keep_loaded(const void* address);

}  // namespace optile::preload
