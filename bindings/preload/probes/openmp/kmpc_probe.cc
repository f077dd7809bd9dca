// LLVM's entry points into OpenMP, as clang's and Intel's compilers call them, interposed. The
// arguments are handed on as they came. Its workers run the program's own function: what a
// trampoline does (masks, counters) is left out here.
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <utility>

#include "bindings/preload/probes/openmp/region_probe.h"
#include "bindings/preload/probes/openmp/region_runtime.h"

namespace {

using optile::preload::LibraryFunction;
using optile::preload::region_function;
using optile::preload::RegionScope;
using optile::preload::unfollowed_team_begins;
using Microtask = void (*)(int*, int*, ...);
using Fork = void (*)(void*, int, Microtask, ...);

// A compiler passes each variable of a region by itself. No program that we know of comes near the
// last of these; one that goes beyond it would lose what is behind.
constexpr size_t kFew = 16;
constexpr size_t kMany = 128;
constexpr size_t kMost = 1024;

LibraryFunction behind_fork = {"__kmpc_fork_call"};
LibraryFunction behind_fork_if = {"__kmpc_fork_call_if"};
LibraryFunction behind_teams = {"__kmpc_fork_teams"};
LibraryFunction behind_push = {"__kmpc_push_num_threads"};
LibraryFunction behind_serialized = {"__kmpc_serialized_parallel"};

// The number of threads that the next region of this thread names itself; 0 = it does not.
thread_local uint16_t threads_pending = 0;

// A variadic function reads no more of its arguments than it was told, so more may be handed over.
template <size_t... Index>
void call(Fork fork, void* where, int count, Microtask task, void* const* words,
          std::index_sequence<Index...> /*indices*/) {
  if (fork != nullptr) {
    fork(where, count, task, words[Index]...);
    return;
  }
  // No runtime is in the process, so none is told a thread that it does not know.
  int thread = 0;
  int bound = 0;
  task(&thread, &bound, words[Index]...);
}

template <size_t Size>
__attribute__((noinline)) void hand_on(Fork fork, void* where, int count, Microtask task,
                                       va_list* arguments) {
  void* words[Size];
  for (size_t i = 0; i < Size; ++i) {
    // Whoever calls has begun them. NOLINTNEXTLINE(clang-analyzer-valist.Uninitialized)
    words[i] = i < static_cast<size_t>(count) ? va_arg(*arguments, void*) : nullptr;
  }
  call(fork, where, count, task, words, std::make_index_sequence<Size>());
}

void fork_region(Fork fork, void* where, int count, Microtask task, va_list* arguments) {
  const auto size = static_cast<size_t>(count < 0 ? 0 : count);
  if (size <= kFew) {
    hand_on<kFew>(fork, where, count, task, arguments);
  } else if (size <= kMany) {
    hand_on<kMany>(fork, where, count, task, arguments);
  } else {
    hand_on<kMost>(fork, where, count, task, arguments);
  }
}

}  // namespace

extern "C" {

// The function that a compiler makes of a region lies in the object that opens it.
void __kmpc_fork_call(void* where, int count, Microtask task, ...) {
  const auto* caller = reinterpret_cast<const void*>(task);
  const auto fork = reinterpret_cast<Fork>(region_function(behind_fork, caller));
  const unsigned threads = threads_pending;
  threads_pending = 0;
  va_list arguments;
  va_start(arguments, task);
  {
    RegionScope scope(caller, threads);
    scope.asks_for(threads);
    fork_region(fork, where, count, task, &arguments);
  }
  va_end(arguments);
}

// The same with one variable at most and an `if` clause. Where that is true it is the region above,
// as in the runtime itself, whose own call might come by here too: a region inside a region.
void __kmpc_fork_call_if(void* where, int count, Microtask task, int condition, void* argument) {
  if (condition != 0) return __kmpc_fork_call(where, count, task, argument);
  using ForkIf = void (*)(void*, int, Microtask, int, void*);
  const auto* caller = reinterpret_cast<const void*>(task);
  const auto real = reinterpret_cast<ForkIf>(region_function(behind_fork_if, caller));
  threads_pending = 0;
  if (real != nullptr) {
    real(where, count, task, condition, argument);
    return;
  }
  int thread = 0;
  int bound = 0;
  task(&thread, &bound, argument);
}

// Several teams at once, each of which opens regions.
void __kmpc_fork_teams(void* where, int count, Microtask task, ...) {
  const auto* caller = reinterpret_cast<const void*>(task);
  const auto fork = reinterpret_cast<Fork>(region_function(behind_teams, caller));
  unfollowed_team_begins(caller, true);
  va_list arguments;
  va_start(arguments, task);
  fork_region(fork, where, count, task, &arguments);
  va_end(arguments);
}

// What says where a region stands lies in its object, too.
void __kmpc_push_num_threads(void* where, int thread, int threads) {
  using Push = void (*)(void*, int, int);
  const auto push = reinterpret_cast<Push>(region_function(behind_push, where));
  // A clause with another number than it may name is one all the same.
  const int most = threads < UINT16_MAX ? threads : UINT16_MAX;
  threads_pending = most > 0 ? static_cast<uint16_t>(most) : uint16_t{1};
  if (push != nullptr) push(where, thread, threads);
}

// An `if` clause that is false: the runtime forgets the number that was pushed for the region.
void __kmpc_serialized_parallel(void* where, int thread) {
  using Serialized = void (*)(void*, int);
  const auto real = reinterpret_cast<Serialized>(region_function(behind_serialized, where));
  threads_pending = 0;
  if (real != nullptr) real(where, thread);
}

}  // extern "C"
