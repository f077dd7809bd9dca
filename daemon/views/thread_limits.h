// What a client's user said about numbers of threads, for `explain`. Pure; any thread.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "daemon/client/client_reader.h"
#include "daemon/transport/attach_request.h"

namespace optile::daemon {

// The variable that sets the program's default width; "" where it is nobody's, or the
// program's.
std::string limiting_variable(const AttachRequest& attach_request, const ClientHeader& header);

// Variables that bind pools of libraries: objects with `name`, `count` and `consequence`.
nlohmann::json pool_limits(const AttachRequest& attach_request);

}  // namespace optile::daemon
