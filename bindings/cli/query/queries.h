// `optile status`, `ops`, `explain`, `machine`, `leases`, `stop`: what the daemon says, as tables
// or JSON.
#pragma once

#include "bindings/cli/options.h"

namespace optile::cli {

// The exit code: 0, or 1 with a message on stderr.
int answer_query(const Options& options);

}  // namespace optile::cli
