// The commands of users that are in force: what of them is kept for a next daemon, what cannot be
// fulfilled for now, and how much they may hold of everybody's cores. Owned by the lease manager;
// the daemon's one thread.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "daemon/leases/managed_client.h"
#include "daemon/leases/persisted_commands.h"
#include "daemon/leases/user_bounds.h"

namespace optile::daemon {

// For the log: a command may be accepted and change nothing.
std::string text_of(const LeaseCommand& command);

class LeaseCommands {
 public:
  // Carries one out for a client that is attached.
  using CarryOut = std::function<base::Status(const LeaseCommand& command)>;

  // Null: no command outlives an attachment. Else it outlives this.
  explicit LeaseCommands(PersistedCommands* persisted) : persisted_(persisted) {}

  // Gives the leases a command of one that has a lease. Refused where a user would hold more than
  // his part.
  base::Status give(Leases& leases, const LeaseCommand& command);
  // It is in force: for the next attachment, and nothing that it replaces is tried again.
  void keep(const Leases* leases, ManagedClient& one, const LeaseCommand& command);
  // Those about its process from before it attached here, to an earlier daemon mostly. Returns a
  // line for each that cannot be fulfilled.
  std::vector<std::string> reapply(ManagedClient& one, const CarryOut& carry_out) const;
  // Who stood against them may have left, or revoked his own command.
  static void retry(ManagedClients& clients, const CarryOut& carry_out);
  // A user has come: what others hold by their commands may be more than their part now. Whose were
  // revoked.
  std::vector<uint64_t> enforce_parts(Leases& leases, ManagedClients& clients);
  void forget(uint64_t client) { bounds_.forget(client); }

 private:
  base::Status check_part(const Leases& leases, const LeaseCommand& command) const;

  PersistedCommands* persisted_;
  UserBounds bounds_;
};

}  // namespace optile::daemon
