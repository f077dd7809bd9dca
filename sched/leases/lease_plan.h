// Which lease every client should have: the commands of the user, clients that cannot be moved,
// then the allocation and the assignment of cores for the rest. Called by the lease table. Pure;
// any thread.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "sched/leases/allocation_policy.h"
#include "sched/leases/lease.h"
#include "sched/leases/lease_record.h"

namespace optile::sched {

struct PlanClient {
  LeaseDemand demand;      // with `claimed` and `used` of the last plan
  Lease target;            // of the last plan
  std::vector<int> home;   // cores that it lends while it waits, and takes back when it wakes
  std::vector<int> pin;    // the user's; not empty: exactly these, for it alone
  std::vector<int> bound;  // it can use no other cores; empty: it can use all
  // Not to be moved (paused, does not answer, detached): keeps of its target what is in the budget.
  bool fixed = false;
  std::map<int, double> occupied;  // fixed only: core and fraction that it may be using
};

struct PlannedLease {
  ClientId id = 0;
  Lease target;
  int claim = 0;  // LeaseShare::claim; in turns, pinned and fixed: 0
  int used = 0;
};

struct LeasePlan {
  std::vector<PlannedLease> leases;  // in the order of the clients
  Allocation allocation;             // of those that are neither pinned nor fixed
  int claims_of = 0;                 // AllocationProblem::claims_of of a next plan
};

// Targets of clients that are not fixed never overlap each other or what fixed ones occupy, except
// that a pin goes first: its cores are planned away from everybody, also before they are free.
// `claims_of`: LeasePlan::claims_of of the last plan.
LeasePlan plan_leases(const LeaseResources& resources, std::optional<int> claims_of,
                      std::vector<PlanClient> clients, const AllocationPolicy& policy);

}  // namespace optile::sched
