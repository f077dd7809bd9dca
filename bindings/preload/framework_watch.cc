#include "bindings/preload/framework_watch.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bindings/preload/attachment.h"
#include "bindings/preload/environment.h"
#include "bindings/preload/host_log.h"
#include "bindings/preload/op_boundary.h"
#include "bindings/preload/runtime_resolver.h"
#include "bindings/preload/width_actuator.h"

namespace optile::preload {
namespace {

constexpr const char* kBridge = "liboptile_torch_bridge.so";

int started = 0;  // 0 = not noticed, 1 = being opened or failed, 2 = at work

const char* file_name(const void* address) {
  const char* path = object_of(address);
  const char* slash = strrchr(path, '/');
  return slash == nullptr ? path : slash + 1;
}

// Code that we load into somebody's process must belong to them or to the administrator, and be
// writable by nobody else.
bool is_trustworthy(const char* path) {
  struct stat found = {};
  if (stat(path, &found) != 0) return false;
  const bool owned = found.st_uid == 0 || found.st_uid == geteuid();
  return owned && (found.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

bool open_bridge() {
  char path[768];
  snprintf(path, sizeof path, "%s/%s", environment().bridge_dir, kBridge);
  if (!is_trustworthy(path)) {
    log_line("PyTorch is observed by its OpenMP regions only: no bridge that can be trusted", path);
    return false;
  }
  // Opening fails, harmlessly, where PyTorch is not the version that the bridge was built for.
  void* bridge = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (bridge == nullptr) {
    const char* why = dlerror();
    log_line("PyTorch is observed by its OpenMP regions only", why == nullptr ? path : why);
    return false;
  }
  auto* start = reinterpret_cast<optile_probe_start_fn>(dlsym(bridge, OPTILE_PROBE_START_SYMBOL));
  return start != nullptr && start(probe_api()) == 0;
}

}  // namespace

bool is_framework(const void* caller) {
  return strncmp(file_name(caller), "libtorch", 8) == 0;
}

bool is_framework_core(const void* caller) {
  return strncmp(file_name(caller), "libtorch_cpu", 12) == 0;
}

bool framework_probe_active() {
  return __atomic_load_n(&started, __ATOMIC_ACQUIRE) == 2;
}

void notice_framework(const void* caller) {
  if (__atomic_load_n(&started, __ATOMIC_RELAXED) != 0 || environment().off) return;
  if (!is_framework_core(caller)) return;
  int not_yet = 0;
  if (!__atomic_compare_exchange_n(&started, &not_yet, 1, false, __ATOMIC_ACQ_REL,
                                   __ATOMIC_RELAXED)) {
    return;
  }
  const int kept_errno = errno;
  choose_steered_runtime(caller);
  if (open_bridge()) {
    __atomic_store_n(&started, 2, __ATOMIC_RELEASE);
  } else {
    add_fallback(OPTILE_FALLBACK_BRIDGE_MISSING);
  }
  errno = kept_errno;
}

}  // namespace optile::preload
