// Why an op runs at its width: the answer to `explain`, from what a client's session knows and, for
// what was learned in earlier runs, from the store. The daemon's one thread.
#pragma once

#include <optional>
#include <string>

#include "daemon/controller.h"
#include "daemon/json_views.h"

namespace optile::daemon {

// Explanations in one answer; how many more matched is said.
inline constexpr std::size_t kMaxExplanations = 16;

// `wanted` is an op id (hex of key, or key-context) or the begin of an op's name; `client` limits
// the search to one. nullopt when nothing matches anywhere.
std::optional<Json> explain_op(Controller& controller, const std::string& wanted,
                               std::optional<uint64_t> client);

}  // namespace optile::daemon
