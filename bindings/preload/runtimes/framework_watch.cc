#include "bindings/preload/runtimes/framework_watch.h"

#include <errno.h>
#include <link.h>
#include <string.h>

#include "bindings/preload/runtimes/loaded_object.h"
#include "bindings/preload/runtimes/object_base.h"
#include "bindings/preload/support/environment.h"
#include "bindings/preload/support/per_address.h"
#include "bindings/preload/support/uncancelled.h"

namespace optile::preload {
namespace {

int started = 0;  // 0 = not noticed, 1 = being opened or failed, 2 = at work

// Where a core lay when an object first computed; most are somebody else's. Regions come by the
// thousand, and walking the linker's list takes a lock.
PerAddress<const void*, 1024> cores_seen;

bool is_core_of(const ProbeHooks& framework, const char* path) {
  const char* name = framework.framework;
  return name != nullptr && strncmp(file_name(path), name, strlen(name)) == 0;
}

const ProbeHooks* framework_of(const char* path) {
  for (const ProbeHooks* probe : registered_probes()) {
    if (is_core_of(*probe, path)) return probe;
  }
  return nullptr;
}

struct CoreSearch {
  const ProbeHooks* framework;  // null: any
  const void* core;
};

int find_core(dl_phdr_info* object, size_t /*size*/, void* to) {
  auto* search = static_cast<CoreSearch*>(to);
  const bool fits = search->framework == nullptr
                        ? framework_of(object->dlpi_name) != nullptr
                        : is_core_of(*search->framework, object->dlpi_name);
  if (!fits) return 0;
  for (int i = 0; i < object->dlpi_phnum; ++i) {
    if (object->dlpi_phdr[i].p_type != PT_LOAD) continue;
    const ElfW(Addr) start = object->dlpi_addr + object->dlpi_phdr[i].p_vaddr;
    // The linker gives addresses as numbers. NOLINTNEXTLINE(performance-no-int-to-ptr)
    search->core = reinterpret_cast<const void*>(start);
    return 1;
  }
  return 0;
}

const void* loaded_core(const ProbeHooks* framework) {
  CoreSearch search = {framework, nullptr};
  dl_iterate_phdr(find_core, &search);
  return search.core;
}

// An address inside a framework's core: the caller's own, or, when somebody else computes for the
// first time, wherever a core has been loaded meanwhile. Null when there is none.
const void* look_for_core(const void* caller) {
  return framework_of(library_of(caller)) != nullptr ? caller : loaded_core(nullptr);
}

}  // namespace

bool is_framework_core(const ProbeHooks& framework, const void* caller) {
  return is_core_of(framework, library_of(caller));
}

const void* framework_core(const ProbeHooks& framework) {
  return loaded_core(&framework);
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
  const ProbeHooks* framework = framework_of(object_of(core));
  if (framework != nullptr && framework->framework_comes(core)) {
    __atomic_store_n(&started, 2, __ATOMIC_RELEASE);
  }
  errno = kept_errno;
}

}  // namespace optile::preload
