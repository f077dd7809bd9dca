// A bridge that is missing is built beside the program that would have used it, for the next run.
#pragma once

#include <string>

namespace optile::cli {

// What is known of PyTorch's bridge before a program starts.
struct BridgeOutlook {
  bool wheel = false;  // the program is a Python that would import PyTorch of a wheel
  bool building = false;
  std::string message;  // for people, where this run goes without; else empty
};

// Looks at files only, and starts at most one process of the lowest priority, which the program
// does not wait for. A build that failed is not tried again here. `torch_folder` is
// find_torch_folder's answer.
BridgeOutlook prepare_bridge(const std::string& torch_folder);

}  // namespace optile::cli
