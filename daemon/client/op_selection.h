// Which ops somebody means: an op id as `optile ops` prints it, or how the op's name begins. Plain
// value; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "daemon/client/client.h"

namespace optile::daemon {

struct OpSelection {
  uint64_t key = 0;  // 0 = by the begin of the name
  std::optional<uint64_t> context;
  std::string name;

  // Hex of a key, or key-context; anything else is the begin of a name.
  static OpSelection parse(const std::string& text);
  bool matches(const perfmodel::OpPlace& place, const ClientView& client) const;
};

// Keys of the client's ops that are meant, each once.
std::vector<uint64_t> keys_of(const OpSelection& selection, const ClientView& client);

}  // namespace optile::daemon
