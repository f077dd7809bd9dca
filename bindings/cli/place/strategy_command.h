// `optile place --objective strategy`: problems in which every node takes one of its strategies.
#pragma once

#include <atomic>
#include <string>

#include "bindings/cli/place/place_options.h"

namespace optile::cli {

// `text` is the file's content, unpacked. The exit code, as of place_graph().
int place_strategies(const PlaceOptions& options, const std::string& text,
                     const std::atomic<bool>& interrupted);

}  // namespace optile::cli
