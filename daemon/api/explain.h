// Why an op runs at its width: the answer to `explain`, from what a client's session knows and, for
// what was learned in earlier runs, from the store. The daemon's one thread.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "daemon/controller/controller.h"
#include "daemon/views/json_views.h"

namespace optile::daemon {

// Explanations in one answer; how many more matched is said.
inline constexpr std::size_t kMaxExplanations = 16;

struct Explained {
  std::string op;                     // its id (hex of key, or key-context) or how its name begins
  std::optional<uint64_t> client{};   // only of this one, and not from the store
  std::vector<ClientView> clients{};  // that are looked at, in this order
  Store* store = nullptr;             // that is asked last; null: none
};

// nullopt when nothing matches anywhere.
std::optional<Json> explain_op(Controller& controller, const Explained& asked);

}  // namespace optile::daemon
