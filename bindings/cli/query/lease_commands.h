// `optile leases` and the commands that change one: share, pin, unpin, pause, resume, detach,
// attach. Pure: options in, the request out; the daemon's answer in, text for people out.
#pragma once

#include <cstdint>
#include <string>

#include "bindings/cli/options.h"
#include "bindings/cli/support/json_fields.h"

namespace optile::cli {

bool changes_a_lease(Verb verb);
// What the daemon is sent; only where changes_a_lease().
Json lease_request(const Options& options);

// Cores as people write them: 0-2,5. What is no list of numbers is "-".
std::string core_ranges(const Json& cores);
std::string lease_table(const Json& answer);
// The line about one client in the same answer, after it was changed.
std::string lease_line(const Json& answer, uint64_t client);

}  // namespace optile::cli
