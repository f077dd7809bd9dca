// `optile bridge build` and `optile bridge check`.
#pragma once

#include "bindings/cli/options.h"

namespace optile::cli {

// The exit code: 0; 1 where there is no bridge, with what to do about it on stderr.
int bridge(const Options& options);

}  // namespace optile::cli
