// Commands of the user, as tests give them to a lease table.
#pragma once

#include <utility>
#include <vector>

#include "sched/leases/lease_command.h"

namespace optile::sched::commands {

using Kind = LeaseCommand::Kind;

inline LeaseCommand share(ClientId id, double share) {
  return {.client = id, .kind = Kind::kShare, .share = share};
}
inline LeaseCommand pin(ClientId id, std::vector<int> cores, bool again = false) {
  return {.client = id, .kind = Kind::kPin, .cores = std::move(cores), .again = again};
}
inline LeaseCommand unpin(ClientId id) {
  return {.client = id, .kind = Kind::kUnpin};
}
inline LeaseCommand pause(ClientId id, Lease with = {}) {
  return {.client = id,
          .kind = Kind::kPause,
          .cores = std::move(with.cores),
          .fraction = with.fraction};
}
inline LeaseCommand resume(ClientId id) {
  return {.client = id, .kind = Kind::kResume};
}
inline LeaseCommand detach(ClientId id) {
  return {.client = id, .kind = Kind::kDetach};
}

}  // namespace optile::sched::commands
