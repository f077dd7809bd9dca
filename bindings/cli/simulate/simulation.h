// `optile simulate`: a training step on a machine that is described, without running any of it.
#pragma once

#include "bindings/cli/options.h"

namespace optile::cli {

// Returns the exit code; errors are on standard error.
int simulate(const Options& options);

}  // namespace optile::cli
