// `optile run` and `optile baseline`: daemon, launch plan, environment, program, report. Whatever
// fails on our side, the program starts.
#pragma once

#include "bindings/cli/options.h"

namespace optile::cli {

// The exit code; does not return where the program takes our place.
int launch(const Options& options);

}  // namespace optile::cli
