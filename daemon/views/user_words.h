// What a client's user said about numbers of threads, for `explain`. Pure; any thread.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "daemon/client/client_reader.h"
#include "daemon/transport/hello.h"

namespace optile::daemon {

// The variable whose word the program's own width is; "" where it is nobody's, or the program's.
std::string binding_word(const Hello& hello, const ClientHeader& header);

// Variables that bind pools of libraries: objects with `name`, `count` and `consequence`.
nlohmann::json words_on_pools(const Hello& hello);

}  // namespace optile::daemon
