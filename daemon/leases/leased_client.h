// What Leases keeps of each client, and what a lease comes to for it. Plain values of that class.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "daemon/leases/client_curve.h"
#include "daemon/leases/lease_weights.h"

namespace optile::daemon {

// What goes to the table with a client's progress.
struct ToldDemand {
  bool alone = false;  // then without it
  int floor = 1;
  int most = 1;
  bool operator==(const ToldDemand&) const = default;
};

struct LeasedClient {
  int pid = 0;
  int cores = 1;
  std::vector<int> units;
  ClientCurve curve;
  int granted = 0;                                         // whole cores
  std::optional<std::chrono::milliseconds> unknown_since;  // decide()'s time
  std::optional<ToldDemand> told;  // what the table knows; none: not this curve
  bool has_told_curve = false;     // what it tells later can wait until cores are divided
  bool settled = false;
  bool waits = false;
  bool wants_more = false;  // cores than its own
  bool confined = false;    // to `units`; none: to what it came with
  int placings = 2;         // that are left, ClientFacts::steps_here
  int placed_on = 0;        // cores, at the latest of them; 0 = none yet
  int lent = 0;
  LeaseParty party;
  LeaseWeight weight;
};

using LeasedClients = std::map<uint64_t, LeasedClient>;

// It has come beside others (so many clients), and is given cores as it becomes known.
inline bool is_being_placed(const LeasedClient& client, std::size_t clients) {
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
std::optional<LeaseProgress> progress_of(const LeasedClients& clients, uint64_t client);

// The part of all cores that a newcomer would have by weight; `expected`: shares of others of its
// user that are about to come.
double part_beside(const LeasedClients& clients, const LeaseParty& newcomer, double expected,
                   bool by_user);

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

}  // namespace optile::daemon
