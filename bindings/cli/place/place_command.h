// `optile place load`, `latency` and `step`: reads the files, calls the method, prints the answer.
#pragma once

#include "bindings/cli/place/place_options.h"

namespace optile::cli {

// 0 for a feasible answer, 1 for one that is not, 125 where there is none.
int place_graph(const PlaceOptions& options);

}  // namespace optile::cli
