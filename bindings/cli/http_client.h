// One request to the daemon over its Unix socket. The one file of the command line that knows
// Boost.Beast. Blocking, with a deadline for everything together.
#pragma once

#include <chrono>
#include <string>

#include "base/result.h"

namespace optile::cli {

struct HttpAnswer {
  unsigned status = 0;
  std::string body;
};

// kNotFound: no daemon there. kUnavailable: it did not answer in time.
base::Result<HttpAnswer> ask_daemon(const std::string& socket, const std::string& method,
                                    const std::string& target, const std::string& body,
                                    std::chrono::milliseconds deadline);

// Any text as a part of a target's path or query.
std::string path_component(const std::string& text);

}  // namespace optile::cli
