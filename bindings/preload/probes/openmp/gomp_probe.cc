// GCC's entry points into OpenMP, interposed. The arguments are handed on as they came: the number
// of threads of a region belongs to whoever sized the work for it and is never touched here.
#include "bindings/preload/probes/openmp/region_probe.h"
#include "bindings/preload/probes/openmp/region_runtime.h"

namespace {

using optile::preload::LibraryFunction;
using optile::preload::region_function;
using optile::preload::RegionScope;
using optile::preload::unfollowed_team_begins;
using Body = void (*)(void*);

// The compiler puts a region's body into the object that opens the region. The return address would
// not do: a region without shared variables is often opened by a tail call.
const void* object_address(Body body) {
  return reinterpret_cast<const void*>(body);
}

// Without any runtime behind us the region is run by its one thread, which OpenMP allows.
template <typename... Rest>
void open_region(LibraryFunction& function, Body body, void* data, unsigned threads, Rest... rest) {
  using Real = void (*)(Body, void*, unsigned, Rest...);
  const void* caller = object_address(body);
  const auto real = reinterpret_cast<Real>(region_function(function, caller));
  if (real == nullptr) {
    body(data);
    return;
  }
  RegionScope scope(body, data, threads, false);
  scope.asks_for(threads);
  real(scope.function(), scope.data(), threads, rest...);
}

// As compilers before GCC 4.9 opened a region: the caller runs its own part and says when it ends.
template <typename... Rest>
void start_team(LibraryFunction& function, Body body, void* data, unsigned threads, Rest... rest) {
  using Real = void (*)(Body, void*, unsigned, Rest...);
  const void* caller = object_address(body);
  const auto real = reinterpret_cast<Real>(region_function(function, caller));
  unfollowed_team_begins(caller, false);
  if (real != nullptr) real(body, data, threads, rest...);
}

}  // namespace

extern "C" {

void GOMP_parallel(Body body, void* data, unsigned threads, unsigned flags) {
  static LibraryFunction behind = {"GOMP_parallel"};
  open_region(behind, body, data, threads, flags);
}

void GOMP_parallel_sections(Body body, void* data, unsigned threads, unsigned count,
                            unsigned flags) {
  static LibraryFunction behind = {"GOMP_parallel_sections"};
  open_region(behind, body, data, threads, count, flags);
}

unsigned GOMP_parallel_reductions(Body body, void* data, unsigned threads, unsigned flags) {
  static LibraryFunction behind = {"GOMP_parallel_reductions"};
  const void* caller = object_address(body);
  using Real = unsigned (*)(Body, void*, unsigned, unsigned);
  const auto real = reinterpret_cast<Real>(region_function(behind, caller));
  if (real == nullptr) {
    body(data);
    return 1;
  }
  RegionScope scope(body, data, threads, true);
  scope.asks_for(threads);
  return real(scope.function(), scope.data(), threads, flags);
}

#define OPTILE_LOOP(name)                                                                         \
  void name(Body body, void* data, unsigned threads, long start, long end, long step, long chunk, \
            unsigned flags) {                                                                     \
    static LibraryFunction behind = {#name};                                                      \
    open_region(behind, body, data, threads, start, end, step, chunk, flags);                     \
  }
// With one more number, which goes on as it is: flags or a chunk.
#define OPTILE_LOOP_AND(Number, open, name)                                           \
  void name(Body body, void* data, unsigned threads, long start, long end, long step, \
            Number last) {                                                            \
    static LibraryFunction behind = {#name};                                          \
    open(behind, body, data, threads, start, end, step, last);                        \
  }

OPTILE_LOOP(GOMP_parallel_loop_static)
OPTILE_LOOP(GOMP_parallel_loop_dynamic)
OPTILE_LOOP(GOMP_parallel_loop_guided)
OPTILE_LOOP(GOMP_parallel_loop_nonmonotonic_dynamic)
OPTILE_LOOP(GOMP_parallel_loop_nonmonotonic_guided)
OPTILE_LOOP_AND(unsigned, open_region, GOMP_parallel_loop_runtime)
OPTILE_LOOP_AND(unsigned, open_region, GOMP_parallel_loop_nonmonotonic_runtime)
OPTILE_LOOP_AND(unsigned, open_region, GOMP_parallel_loop_maybe_nonmonotonic_runtime)

void GOMP_parallel_start(Body body, void* data, unsigned threads) {
  static LibraryFunction behind = {"GOMP_parallel_start"};
  start_team(behind, body, data, threads);
}

void GOMP_parallel_sections_start(Body body, void* data, unsigned threads, unsigned count) {
  static LibraryFunction behind = {"GOMP_parallel_sections_start"};
  start_team(behind, body, data, threads, count);
}

OPTILE_LOOP_AND(long, start_team, GOMP_parallel_loop_static_start)
OPTILE_LOOP_AND(long, start_team, GOMP_parallel_loop_dynamic_start)
OPTILE_LOOP_AND(long, start_team, GOMP_parallel_loop_guided_start)

void GOMP_parallel_loop_runtime_start(Body body, void* data, unsigned threads, long start, long end,
                                      long step) {
  static LibraryFunction behind = {"GOMP_parallel_loop_runtime_start"};
  start_team(behind, body, data, threads, start, end, step);
}

}  // extern "C"
