// Builds the bridge for a wheel and puts it into the user's cache.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "bindings/cli/bridge/torch_wheel.h"

namespace optile::cli {

// Takes half a minute of one core: PyTorch's headers are large. `compiler` as find_compiler() gives
// it; empty, missing headers and a folder that is not ours are errors that say what to do. What the
// compiler said is kept in the folder, in a file that the error names.
base::Status build_bridge(const TorchWheel& wheel, const std::string& folder,
                          const std::vector<std::string>& compiler);

}  // namespace optile::cli
