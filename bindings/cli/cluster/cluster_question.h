// Questions to this machine's daemon about its cluster. Blocking, with deadlines.
#pragma once

#include <string>

#include "base/result.h"
#include "bindings/cli/options.h"
#include "bindings/cli/support/json_fields.h"

namespace optile::cli {

// Of the daemon that is asked, as an absolute path.
std::string socket_of(const Options& options);

// An object, or why there is none: what the daemon answered, or that none did.
base::Result<Json> ask_about_cluster(const std::string& socket, const char* method,
                                     const char* target, const std::string& body = "");

// What is in the way, as the daemon says it; "" = nothing.
std::string messages_of(const Json& answer);

// With the message on stderr; 1.
int report_failure(const std::string& message);

}  // namespace optile::cli
