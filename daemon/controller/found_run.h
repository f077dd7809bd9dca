// What became of a run, as its launcher asks for it. Plain values.
#pragma once

#include <optional>

#include "daemon/client/client.h"

namespace optile::daemon {

enum class RunState { kUnknown, kRunning, kFinished };

struct FoundRun {
  RunState state = RunState::kUnknown;
  std::optional<ClientView> client;
};

}  // namespace optile::daemon
