#include "bindings/cli/bridge/background_build.h"

#include "bindings/cli/bridge/bridge_cache.h"
#include "bindings/cli/bridge/torch_wheel.h"
#include "bindings/cli/run/daemon_start.h"
#include "bindings/cli/support/detached_process.h"

namespace optile::cli {
namespace {

// Only what names the bridge: the rest takes longer to read than a start may wait.
std::string wheel_version(const std::string& folder) {
  if (!is_of_wheel(folder)) return "";
  char version[base::kVersionBytes];
  const std::string file = folder + "/version.py";
  return base::read_torch_version(file.c_str(), version) ? version : "";
}

}  // namespace

BridgeOutlook prepare_bridge(const std::string& torch_folder) {
  BridgeOutlook outlook;
  const std::string version = torch_folder.empty() ? "" : wheel_version(torch_folder);
  if (version.empty()) return outlook;
  outlook.wheel = true;
  const std::string folder = bridge_folder();
  const std::string name = bridge_name(version);
  const base::BridgeFault fault = folder.empty()
                                      ? base::BridgeFault::kAbsent
                                      : base::check_bridge_file(folder.c_str(), name.c_str());
  if (fault == base::BridgeFault::kNone) return outlook;
  const std::string without =
      "PyTorch " + version +
      " has no bridge yet: of a program that uses it this run sees only the OpenMP regions; ";
  const bool hopeless =
      folder.empty() || fault != base::BridgeFault::kAbsent || !failed_build(folder, name).empty();
  if (hopeless) {
    outlook.message = without + "optile bridge check says why";
    return outlook;
  }
  outlook.building = start_detached({own_folder() + "/optile", "bridge", "build", "--background",
                                     "--torch", torch_folder},
                                    Bounds::kCallers)
                         .ok();
  if (outlook.building) outlook.message = without + "one is being built for the next";
  return outlook;
}

}  // namespace optile::cli
