// The bridge's own source, as it was when optile was built. Written by
// cmake/OptileBridgeSources.cmake.
#pragma once

#include <string>
#include <vector>

namespace optile::cli {

struct BridgeSource {
  std::string path;  // from the root of the repository, as includes name it
  std::string text;
};
const std::vector<BridgeSource>& bridge_sources();

}  // namespace optile::cli
