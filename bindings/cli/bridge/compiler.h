// The compiler that a bridge is built with, and its command line.
#pragma once

#include <string>
#include <vector>

#include "bindings/cli/bridge/torch_wheel.h"

namespace optile::cli {

// The first of $CXX, c++, g++ and clang++ that can be executed, by `path` (PATH); empty = none.
// $CXX may carry options and is split at blanks.
std::vector<std::string> find_compiler(const std::string& cxx, const std::string& path);

// Builds the bridge out of `sources`, a folder with bridge_sources() in it, into `output`.
std::vector<std::string> compiler_command(const std::vector<std::string>& compiler,
                                          const TorchWheel& wheel, const std::string& sources,
                                          const std::string& output);

}  // namespace optile::cli
