#include "bindings/preload/runtimes/framework_watch.h"

#include <errno.h>
#include <link.h>
#include <string.h>

#include "bindings/preload/actuators/width_actuator.h"
#include "bindings/preload/core/op_boundary.h"
#include "bindings/preload/daemon_link/attachment.h"
#include "bindings/preload/daemon_link/torch_bridge_file.h"
#include "bindings/preload/runtimes/object_base.h"
#include "bindings/preload/runtimes/runtime_resolver.h"
#include "bindings/preload/support/environment.h"
#include "bindings/preload/support/per_address.h"
#include "bindings/preload/support/uncancelled.h"

namespace optile::preload {
namespace {

constexpr const char* kCore = "libtorch_cpu.so";

int started = 0;  // 0 = not noticed, 1 = being opened or failed, 2 = at work

// Where the core lay when an object first computed; most are somebody else's. Regions come by the
// thousand, and walking the linker's list takes a lock.
PerAddress<const void*, 1024> cores_seen;

int find_core(dl_phdr_info* object, size_t /*size*/, void* found) {
  if (strncmp(file_name(object->dlpi_name), kCore, strlen(kCore)) != 0) return 0;
  for (int i = 0; i < object->dlpi_phnum; ++i) {
    if (object->dlpi_phdr[i].p_type != PT_LOAD) continue;
    const ElfW(Addr) start = object->dlpi_addr + object->dlpi_phdr[i].p_vaddr;
    // The linker gives addresses as numbers. NOLINTNEXTLINE(performance-no-int-to-ptr)
    *static_cast<const void**>(found) = reinterpret_cast<const void*>(start);
    return 1;
  }
  return 0;
}

// An address inside the framework's core: the caller's own, or, when somebody else computes for
// the first time, wherever the core has been loaded meanwhile. Null when there is none.
const void* look_for_core(const void* caller) {
  return is_framework_core(caller) ? caller : framework_core();
}

}  // namespace

bool is_framework_core(const void* caller) {
  return strncmp(file_name(library_of(caller)), kCore, strlen(kCore)) == 0;
}

const void* framework_core() {
  const void* core = nullptr;
  dl_iterate_phdr(find_core, &core);
  return core;
}

bool framework_probe_active() {
  return __atomic_load_n(&started, __ATOMIC_ACQUIRE) == 2;
}

void notice_framework(const void* caller) {
  if (__atomic_load_n(&started, __ATOMIC_RELAXED) != 0 || environment().off) return;
  const void* base = caller == nullptr ? nullptr : base_of(caller);
  const void* core = base == nullptr ? nullptr : cores_seen.get(base, look_for_core);
  if (core == nullptr) return;
  int not_yet = 0;
  if (!__atomic_compare_exchange_n(&started, &not_yet, 1, false, __ATOMIC_ACQ_REL,
                                   __ATOMIC_RELAXED)) {
    return;
  }
  const Uncancelled uncancelled;
  const int kept_errno = errno;
  choose_steered_runtime(core);
  if (open_torch_bridge(core)) {
    __atomic_store_n(&started, 2, __ATOMIC_RELEASE);
  } else if (environment().torch_bridge) {
    add_fallback(OPTILE_FALLBACK_BRIDGE_MISSING);
  }
  errno = kept_errno;
}

}  // namespace optile::preload
