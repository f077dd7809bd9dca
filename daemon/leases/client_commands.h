// Commands of users about attached programs, as the controller takes them. Plain values.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sched/leases/lease_command.h"

namespace optile::daemon {

// By hand: the programs' default widths, for the attached clients that are meant until they end,
// and for later runs of their programs until it is revoked.
struct UndoRequest {
  uint64_t client = 0;  // 0 = every one
  std::string program;  // "" = every one
  std::string op;       // "" = every one; else only those ops, of attached clients
  bool revoke = false;
  std::optional<unsigned> user{};  // only his; nullopt = everybody's
  unsigned asked_by = 0;           // whose later runs it means, besides those of whom it meets
};

// By hand. In force when it returns. kNotFound: no such client; kUnavailable: it has no lease (or,
// of kAttach, it has not been detached), or another command of the user stands against it.
using sched::LeaseCommand;

// One that was issued before and cannot be fulfilled for now: it is retried until it can.
struct PendingCommand {
  LeaseCommand command;
  std::string why;
};

}  // namespace optile::daemon
