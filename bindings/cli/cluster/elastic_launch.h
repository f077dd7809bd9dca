// `optile launch --nodes MIN:MAX`: takes part in generations of a job, each with the nodes that are
// there, until the program has ended in one. Where a node of a generation is lost, the others end
// their programs and all that these have started, agree anew, and start the program again.
#pragma once

#include "bindings/cli/options.h"

namespace optile::cli {

// The program's exit code, or its signal; kOwnFailure with a message where too few nodes are left.
int launch_elastic(const Options& options);

}  // namespace optile::cli
