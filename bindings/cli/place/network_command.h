// `optile place --network NAME --objective strategy`: how each layer of a published network is
// split over devices.
#pragma once

#include <atomic>

#include "bindings/cli/place/place_options.h"

namespace optile::cli {

// The exit code, as of place_graph().
int split_network(const PlaceOptions& options, const std::atomic<bool>& interrupted);

}  // namespace optile::cli
