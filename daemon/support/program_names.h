// Which program somebody means: by its whole name, or by the end of its path, as `optile top`
// prints it. Pure; any thread.
#pragma once

#include <set>
#include <string>

#include "base/result.h"

namespace optile::daemon {

// One of `known`. kNotFound: none is called so; kUnavailable: several are, and the message names
// them.
base::Result<std::string> find_program(const std::set<std::string>& known, const std::string& name);

}  // namespace optile::daemon
