// Leases as the API shows them, and the commands about them that it takes. Pure but for what it
// asks the controller; the daemon's one thread.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>

#include "base/result.h"
#include "daemon/controller/controller.h"
#include "daemon/views/json_views.h"

namespace optile::daemon {

// Of a list of cores; more is an error.
inline constexpr std::size_t kMaxPinnedCores = 4096;

// Every lease, and the attached clients that have none. Those that `may_see` says no to have no
// name and no pid; without it all have.
Json leases_json(const Controller& controller,
                 const std::function<bool(const ClientView& client)>& may_see = {});

// {"client": 3, "share": 2}: a client and exactly one command. Cores of a pin are a list, or a text
// such as "0-3,6". kUnavailable where such a text names cores that there cannot be; kInvalid, with
// what would be right, for anything else.
base::Result<LeaseCommand> parse_lease_command(const Json& body);

}  // namespace optile::daemon
