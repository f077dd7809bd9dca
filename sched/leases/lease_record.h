// What the lease table keeps of its clients. Plain values of that class and of what it is made of.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "perfmodel/machine/budget.h"
#include "perfmodel/machine/machine.h"
#include "sched/leases/allocation_policy.h"
#include "sched/leases/lease.h"

namespace optile::sched {

struct LeaseRecord {
  LeaseDemand demand;  // with `claimed` and `used` of the last plan
  Lease target;        // of the last plan
  // Cores that it lends while it waits, and takes back when it wakes.
  std::vector<int> home;
  // While somebody is away: its claim when nobody was; nullopt: it came since.
  std::optional<int> claim_with_all;
  std::vector<int> pin;    // the user's; not empty: exactly these, for it alone
  std::vector<int> bound;  // it can use no other cores; empty: it can use all
  bool paused = false;
  bool detached = false;
  bool dismissed = false;  // detached and told so
  bool late = false;
  double gain = 0;
  std::string reason;
};

using LeaseRecords = std::map<ClientId, LeaseRecord>;

// What there is to divide.
struct LeaseResources {
  perfmodel::Machine machine;
  perfmodel::Budget budget;
  // Cores beside the budget's that are busy with what has no lease. They are there all the same for
  // who is pinned or paused.
  int left_to_others = 0;
};

}  // namespace optile::sched
