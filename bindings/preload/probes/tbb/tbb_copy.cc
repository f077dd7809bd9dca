#include "bindings/preload/probes/tbb/tbb_copy.h"

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "bindings/preload/runtimes/object_base.h"
#include "bindings/preload/runtimes/runtime_resolver.h"

namespace optile::preload {
namespace {

// As tbb::detail::d1::global_control lies in memory.
struct GlobalControl {
  size_t value;
  intptr_t reserved;
  int parameter;
};
constexpr int kMaxAllowedParallelism = 0;

// TBB_INTERFACE_VERSION of 2021.8 and of 2022.3.
constexpr int kOldestTried = 12080;
constexpr int kNewestTried = 12170;

struct Copy {
  const void* base = nullptr;                  // where its object is loaded
  const void* (*current_context)() = nullptr;  // null outside any task
  int (*interface_version)() = nullptr;
  int (*max_concurrency)(const void* arena) = nullptr;  // null: of the thread's own arena
  size_t (*active_value)(int parameter) = nullptr;
  void (*create)(GlobalControl& control) = nullptr;
  void (*destroy)(GlobalControl& control) = nullptr;
  int (*numa_default_concurrency)(int node) = nullptr;  // below 0: of no node
  int usual_arena = 0;                                  // threads; 0 = not known
  bool takes_controls = false;                          // of ours
};
Copy the_copy;
int state = 0;  // 0 = none yet, 1 = being asked or in vain, 2 = there

GlobalControl control;      // lives as long as oneTBB, which keeps its address
int in_force = 0;           // what it allows; 0 = it is not there
size_t program_allows = 0;  // without it, as found before it was there
int changing = 0;

template <typename Function>
void take(Function& function, const void* inside, const char* name) {
  function = reinterpret_cast<Function>(own_function(inside, name));
}

bool takes_controls(const Copy& copy) {
  if (copy.interface_version == nullptr || copy.max_concurrency == nullptr) return false;
  if (copy.active_value == nullptr || copy.create == nullptr || copy.destroy == nullptr)
    return false;
  const int version = copy.interface_version();
  if (version < kOldestTried || version > kNewestTried) return false;
  // What is compiled for finding errors may take a control that outlives the program for one.
  return strstr(file_name(object_of(copy.base)), "debug") == nullptr;
}

bool ask(const void* inside) {
  Copy& copy = the_copy;
  copy.base = base_of(inside);
  take(copy.current_context, inside, "_ZN3tbb6detail2r115current_contextEv");
  take(copy.interface_version, inside, "TBB_runtime_interface_version");
  take(copy.max_concurrency, inside,
       "_ZN3tbb6detail2r115max_concurrencyEPKNS0_2d115task_arena_baseE");
  take(copy.active_value, inside, "_ZN3tbb6detail2r127global_control_active_valueEi");
  take(copy.create, inside, "_ZN3tbb6detail2r16createERNS0_2d114global_controlE");
  take(copy.destroy, inside, "_ZN3tbb6detail2r17destroyERNS0_2d114global_controlE");
  take(copy.numa_default_concurrency, inside, "_ZN3tbb6detail2r124numa_default_concurrencyEi");
  if (copy.numa_default_concurrency != nullptr && copy.max_concurrency != nullptr) {
    copy.usual_arena = copy.numa_default_concurrency(-1);
  }
  copy.takes_controls = takes_controls(copy);
  return copy.current_context != nullptr && copy.base != nullptr;
}

bool is_there() {
  return __atomic_load_n(&state, __ATOMIC_ACQUIRE) == 2;
}

int allowed() {
  const int arena = the_copy.max_concurrency(nullptr);
  const size_t active = the_copy.active_value(kMaxAllowedParallelism);
  const size_t of_program = value_without_ours(kMaxAllowedParallelism, active);
  return of_program < static_cast<size_t>(arena) ? static_cast<int>(of_program) : arena;
}

// By the issuing thread, and with 0 by whoever ends it for good; who comes second leaves it. That
// one has said before that it came, which the first looks for afterwards: all in one order.
int allow(int count) {
  const int earlier = __atomic_load_n(&in_force, __ATOMIC_SEQ_CST);
  if (earlier == count || __atomic_exchange_n(&changing, 1, __ATOMIC_SEQ_CST) != 0) return earlier;
  if (in_force != 0) the_copy.destroy(control);
  if (count != 0) {
    __atomic_store_n(&program_allows, the_copy.active_value(kMaxAllowedParallelism),
                     __ATOMIC_RELAXED);
    control = {static_cast<size_t>(count), 0, kMaxAllowedParallelism};
    the_copy.create(control);
  }
  __atomic_store_n(&in_force, count, __ATOMIC_SEQ_CST);
  __atomic_store_n(&changing, 0, __ATOMIC_SEQ_CST);
  return earlier;
}

}  // namespace

bool is_followed_tbb(const void* entry) {
  int none = 0;
  if (!is_there() &&
      __atomic_compare_exchange_n(&state, &none, 1, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) {
    const int kept_errno = errno;
    if (ask(entry)) __atomic_store_n(&state, 2, __ATOMIC_RELEASE);
    errno = kept_errno;
  }
  return is_inside_tbb(entry);
}

int arena_size() {
  if (!is_there() || the_copy.usual_arena == 0) return 0;
  const int size = the_copy.max_concurrency(nullptr);
  return size == the_copy.usual_arena ? 0 : size;
}

bool is_inside_tbb(const void* code) {
  return is_there() && base_of(code) == the_copy.base;
}

bool inside_tbb_task() {
  return is_there() && the_copy.current_context() != nullptr;
}

// The smallest of all controls holds: one of the program's, if it is smaller than ours.
size_t value_without_ours(int parameter, size_t value) {
  const auto ours = static_cast<size_t>(__atomic_load_n(&in_force, __ATOMIC_RELAXED));
  if (parameter != kMaxAllowedParallelism || ours == 0 || value != ours) return value;
  return __atomic_load_n(&program_allows, __ATOMIC_RELAXED);
}

CountKnob tbb_knob() {
  return is_there() && the_copy.takes_controls ? CountKnob{allowed, allow, true} : CountKnob{};
}

}  // namespace optile::preload
