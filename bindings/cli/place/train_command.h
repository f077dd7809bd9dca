// `optile place train`: a policy that learns from all graphs of a folder, as a file.
#pragma once

#include "bindings/cli/place/place_options.h"

namespace optile::cli {

// Tells what was learned from on stdout; returns the program's exit code.
int train_policy(const TrainOptions& options);

}  // namespace optile::cli
