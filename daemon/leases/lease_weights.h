// What one client's progress weighs when cores are divided: its share, but the ranks of a job count
// as one client together, and in the system daemon all clients of a user as one user, so that
// nobody gets more by starting more or by asking for more. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "sched/leases/lease.h"

namespace optile::daemon {

struct LeaseParty {
  uint64_t client = 0;
  unsigned uid = 0;
  std::string job;  // of one user; "" = a client by itself
  double share = 1.0;
  sched::Priority priority = sched::Priority::kNormal;
};

struct LeaseWeight {
  double weight = 1.0;  // within what a lease table takes
  double part = 1.0;    // of the weights of all clients of its class
  int ranks = 1;        // of its job
};

// By client. `by_user`: users count the same, whatever their clients' shares.
std::map<uint64_t, LeaseWeight> lease_weights(const std::vector<LeaseParty>& parties, bool by_user);

}  // namespace optile::daemon
