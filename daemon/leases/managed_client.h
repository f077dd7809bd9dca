// What is kept of each attached client and of its lease, and what a lease comes to for it. Plain
// values of the lease manager and of what it is made of.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "daemon/client/client.h"
#include "daemon/leases/client_commands.h"
#include "daemon/leases/client_curve.h"
#include "daemon/leases/idle_detector.h"
#include "daemon/leases/lease_weights.h"
#include "daemon/leases/region_throughput.h"
#include "perfmodel/machine/budget.h"

namespace optile::daemon {

// What goes to the table with a client's progress.
struct ReportedDemand {
  bool alone = false;  // then without it
  int floor = 1;
  int most = 1;
  bool operator==(const ReportedDemand&) const = default;
};

// Of a client that takes part when cores are divided.
struct LeaseState {
  int pid = 0;
  int cores = 1;
  std::vector<int> units;
  ClientCurve curve;
  int granted = 0;                                         // whole cores
  std::optional<std::chrono::milliseconds> unknown_since;  // decide()'s time
  std::optional<ReportedDemand> reported;  // what the table knows; none: not this curve
  bool has_reported_curve = false;         // what it reports later can wait until cores are divided
  bool settled = false;
  bool waits = false;
  bool wants_more = false;  // cores than its own
  int fixed = 0;            // cores that its pools are made for; 0 = it follows its lease
  bool confined = false;    // to `units`; none: to what it came with
  int placings = 2;         // that are left, ClientFacts::steps_here
  int placed_on = 0;        // cores, at the latest of them; 0 = none yet
  int lent = 0;
  LeaseParty party;
  LeaseWeight weight;
};

// What a lease comes to for its client.
struct LeaseTerms {
  std::vector<int> units;
  std::vector<int> mask;  // none: no confinement
  int own = 0;            // whole cores
  int lent = 0;
  bool in_turns = false;
};

// What its client's controller hears of it.
struct GrantedLease {
  uint64_t client = 0;
  std::vector<int> units;      // os indices; empty: no core yet
  std::vector<int> own_units;  // of them, without what is lent; none where nobody can tell
  int cores = 1;               // whole ones, without those that others lend it
  int lent = 0;                // cores of others that wait
  bool in_turns = false;       // its units are a part of one core's time
  bool last = false;           // it was detached: no lease any more
  std::string reason;
  // Cores of its own, whole ones: its pace says something of them.
  bool whole() const { return !units.empty() && !in_turns; }
};

// A client with what it was allowed when it came. Later its own mask may be one that we set, so
// only quota and loss of processors are read again once a binding was in force.
struct ManagedClient {
  bool has_lease() const { return state.has_value(); }

  Client* client = nullptr;  // outlives this
  perfmodel::Budget at_attach = {};
  perfmodel::Budget now = {};
  std::optional<LeaseState> state = {};    // none: no lease is given to it
  std::optional<GrantedLease> lease = {};  // as its session was told
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
  int sized_for = 0;  // LeaseState::fixed, beyond that lease
  std::vector<PendingCommand> pending = {};
};

using ManagedClients = std::map<uint64_t, ManagedClient>;

// It has come beside others (so many clients), and is given cores as it becomes known.
inline bool is_being_placed(const LeaseState& client, std::size_t clients) {
  return clients > 1 && client.placings > 0 && client.granted > 0 &&
         client.granted != client.placed_on;
}

// Throughput over that alone at its own best, with the cores that it has (with one, in turns):
// measured where both are, else from its curve.
struct LeaseProgress {
  double value = 0;
  bool measured = false;
};
// nullopt while nothing is known of it.
std::optional<LeaseProgress> progress_of(const ManagedClients& clients, uint64_t client);

// The part of all cores that a newcomer would have by weight; `expected`: shares of others of its
// user that are about to come.
double part_beside(const ManagedClients& clients, const LeaseParty& newcomer, double expected,
                   bool by_user);

}  // namespace optile::daemon
