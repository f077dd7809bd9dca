#include "bindings/preload/probes/torch/torch_bridge_file.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "base/bridge_file.h"
#include "bindings/preload/core/op_boundary.h"
#include "bindings/preload/runtimes/own_library.h"
#include "bindings/preload/runtimes/runtime_resolver.h"
#include "bindings/preload/support/environment.h"
#include "bindings/preload/support/host_log.h"

namespace optile::preload {
namespace {

constexpr const char* kBridge = "liboptile_torch_bridge.so";
constexpr char kBuiltFor[] = "libtorch_cpu.so." OPTILE_TORCH_VERSION;
constexpr const char* kWheelCore = "libtorch_cpu.so";
constexpr const char* kUnbridged = "PyTorch is observed by its OpenMP regions only";

const char* file_name(const char* path) {
  const char* slash = strrchr(path, '/');
  return slash == nullptr ? path : slash + 1;
}

// The bridge needs the PyTorch that it was built for by name. In a process with another one,
// opening it would load that PyTorch beside the program's own wherever it happens to be installed.
bool own_bridge_is_for(const char* core_path) {
  constexpr size_t kLength = sizeof kBuiltFor - 1;
  const char* name = file_name(core_path);
  return OPTILE_TORCH_VERSION[0] != '\0' && strncmp(name, kBuiltFor, kLength) == 0 &&
         (name[kLength] == '\0' || name[kLength] == '.');
}

// A wheel's PyTorch is torch/lib/libtorch_cpu.so, and says its version in torch/version.py.
bool find_wheel_version(const char* core_path, char (&version)[base::kVersionBytes]) {
  const char* name = file_name(core_path);
  if (strcmp(name, kWheelCore) != 0) return false;
  char path[1024];
  const int size = snprintf(path, sizeof path, "%.*s../version.py",
                            static_cast<int>(name - core_path), core_path);
  if (size < 0 || static_cast<size_t>(size) >= sizeof path) return false;
  return base::read_torch_version(path, version);
}

void* open_wheel_bridge(const char* core_path) {
  char version[base::kVersionBytes];
  if (!find_wheel_version(core_path, version)) {
    log_line("PyTorch is observed by its OpenMP regions only: no bridge for", core_path);
    return nullptr;
  }
  char name[160];
  base::put_bridge_name(name, version);
  const char* folder = environment().bridge_cache;
  const base::BridgeFault fault =
      folder[0] == '\0' ? base::BridgeFault::kAbsent : base::check_bridge_file(folder, name);
  char path[768];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  if (fault != base::BridgeFault::kNone) {
    char text[400];
    snprintf(text, sizeof text, "%.280s: %s; optile bridge build", path,
             base::bridge_fault_text(fault));
    log_line(kUnbridged, text);
    return nullptr;
  }
  void* bridge = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (bridge == nullptr) {
    const char* why = dlerror();
    log_line(kUnbridged, why == nullptr ? path : why);
  }
  return bridge;
}

}  // namespace

bool open_torch_bridge(const void* core) {
  if (!environment().torch_bridge) return false;
  const char* core_path = object_of(core);
  void* bridge = own_bridge_is_for(core_path) ? open_own_library(kBridge, kUnbridged)
                                              : open_wheel_bridge(core_path);
  if (bridge == nullptr) return false;
  auto* start = reinterpret_cast<optile_probe_start_fn>(dlsym(bridge, OPTILE_PROBE_START_SYMBOL));
  return start != nullptr && start(probe_api()) == 0;
}

}  // namespace optile::preload
