// `optile place network`: how each layer of a published network is
// split over devices.
#pragma once

#include "bindings/cli/place/place_options.h"

namespace optile::cli {

// The exit code, as of place_graph().
int split_network(const NetworkOptions& options);

}  // namespace optile::cli
