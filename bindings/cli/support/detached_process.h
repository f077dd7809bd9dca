// Processes that are started and never waited for: the daemon, a bridge's build.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace optile::cli {

// Of the caller's processors and limits: what the process has from its start.
enum class Bounds {
  kCallers,
  kWidest,  // all that it may have: every processor of its cpuset, soft limits as the hard ones
};

// In the environment of what was started so, and of what that starts.
inline constexpr const char* kDetached = "OPTILE_DETACHED";

// Starts `command`, whose first word is a path, in a session of its own: no terminal, no inherited
// descriptors, default signals, without the shim and without our OMP_NUM_THREADS, in the folder /.
// Returns when it is on its way; whether it can be executed nobody learns.
base::Status start_detached(const std::vector<std::string>& command, Bounds bounds);

}  // namespace optile::cli
