// What is there for a wheel: its bridge, what keeps one from being built, and what that means.
#pragma once

#include <string>
#include <vector>

#include "base/bridge_file.h"
#include "bindings/cli/bridge/torch_wheel.h"

namespace optile::cli {

struct BridgeState {
  TorchWheel wheel;
  std::string folder;  // of the bridges; empty = no place for any
  std::string name;    // of the one for this wheel
  base::BridgeFault fault = base::BridgeFault::kAbsent;
  std::string failure;                // of the last build; empty = none failed
  std::vector<std::string> compiler;  // empty = none
};
BridgeState look_at_bridge(const TorchWheel& wheel);

// For people: what is there, and what to do where something is to be done (else empty).
std::string bridge_finding(const BridgeState& state);
std::string bridge_advice(const BridgeState& state);

}  // namespace optile::cli
