// What the lease manager keeps of each attached client. Plain values of that class and of what it
// is made of.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "daemon/client/client.h"
#include "daemon/leases/client_commands.h"
#include "daemon/leases/idle_detector.h"
#include "daemon/leases/leased_client.h"
#include "daemon/leases/region_throughput.h"
#include "perfmodel/machine/budget.h"

namespace optile::daemon {

// A client with what it was allowed when it came. Later its own mask may be one that we set, so
// only quota and loss of processors are read again once a binding was in force.
struct ManagedClient {
  Client* client = nullptr;  // outlives this
  perfmodel::Budget at_attach;
  perfmodel::Budget now;
  std::optional<GrantedLease> lease = {};
  IdleDetector waiting = {};
  RegionThroughput pace = {};
  std::size_t seen_steps = 0;  // on its cores, at the last look at who has just come
  bool detached = false;
  // While it shares the cores by time instead of having a lease.
  struct SharedTime {
    std::string why;                         // half a sentence
    int64_t since = 0;                       // seconds since 1970
    std::optional<EarlierCurve> curve = {};  // that it had by then
  };
  std::optional<SharedTime> shared_time = {};
  std::vector<PendingCommand> unkept = {};
};

using ManagedClients = std::map<uint64_t, ManagedClient>;

}  // namespace optile::daemon
