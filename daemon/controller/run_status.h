// What became of a run, as its launcher asks for it. Plain values.
#pragma once

#include <optional>
#include <vector>

#include "daemon/client/client.h"
#include "daemon/store/program_history.h"

namespace optile::daemon {

enum class RunState { kUnknown, kRunning, kFinished };

struct RunStatus {
  RunState state = RunState::kUnknown;
  std::optional<ClientView> client;
};

// Runs of the same program, newest first.
inline std::vector<RunRecord> earlier_runs(ProgramHistory& history, const ClientView& client) {
  const AttachRequest& who = client.attach_request;
  return history.earlier_runs({who.executable, who.program, who.arguments}, who.uid);
}

}  // namespace optile::daemon
