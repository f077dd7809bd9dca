// `optile cluster top`: the nodes with their jobs, as a picture that follows them.
#pragma once

#include <string>

#include "bindings/cli/options.h"

namespace optile::cli {

// The exit code: 0, or 1 with a message on stderr where no daemon answers at the start. On a
// terminal, until a key or a signal ends it; else, and with --once, one picture.
int watch_cluster(const Options& options, const std::string& socket);

}  // namespace optile::cli
