#include "bindings/cli/bridge/bridge_state.h"

#include <cstdlib>

#include "bindings/cli/bridge/bridge_cache.h"
#include "bindings/cli/bridge/compiler.h"

namespace optile::cli {
namespace {

std::string variable(const char* name) {
  const char* value = getenv(name);
  return value == nullptr ? "" : value;
}

}  // namespace

BridgeState look_at_bridge(const TorchWheel& wheel) {
  BridgeState state;
  state.wheel = wheel;
  state.folder = bridge_folder();
  state.name = bridge_name(wheel.version);
  state.compiler = find_compiler(variable("CXX"), variable("PATH"));
  if (state.folder.empty()) return state;
  state.fault = base::check_bridge_file(state.folder.c_str(), state.name.c_str());
  state.failure = failed_build(state.folder, state.name);
  return state;
}

std::string bridge_finding(const BridgeState& state) {
  const std::string torch = "PyTorch " + state.wheel.version + " of a wheel, ";
  if (state.fault == base::BridgeFault::kNone) return torch + "with a bridge: its ops are seen";
  const std::string lost = "only its OpenMP regions are seen";
  if (state.fault != base::BridgeFault::kAbsent) {
    return torch + "whose bridge is not loaded, so " + lost + ": " + state.folder + "/" +
           state.name + ": " + base::bridge_fault_text(state.fault);
  }
  if (!state.failure.empty()) return torch + "without a bridge, so " + lost + ": " + state.failure;
  return torch + "without a bridge yet: until there is one, " + lost;
}

std::string bridge_advice(const BridgeState& state) {
  if (state.fault == base::BridgeFault::kNone) return "";
  if (state.folder.empty()) return "set HOME or XDG_CACHE_HOME";
  if (state.compiler.empty()) {
    return "install a C++ compiler (Debian: apt install g++), then optile bridge build";
  }
  if (!state.wheel.missing_headers.empty()) {
    return state.wheel.missing_headers + " is missing: install the wheel with its headers";
  }
  return "optile bridge build --torch " + state.wheel.folder;
}

}  // namespace optile::cli
