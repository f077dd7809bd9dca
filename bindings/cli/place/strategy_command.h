// `optile place strategy`: problems in which every node takes one of its strategies.
#pragma once

#include "bindings/cli/place/place_options.h"

namespace optile::cli {

// The exit code, as of place_graph().
int place_strategies(const StrategyOptions& options);

}  // namespace optile::cli
