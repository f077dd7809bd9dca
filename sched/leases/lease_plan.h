// Which lease every client should have: the words of the user, clients that cannot be moved, then
// the allocation and the assignment of cores for the rest. Called by the lease table. Pure; any
// thread.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "perfmodel/machine/budget.h"
#include "perfmodel/machine/machine.h"
#include "sched/leases/lease.h"
#include "sched/leases/lease_allocation.h"

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

struct PlanBudget {
  perfmodel::Budget budget;
  int left_to_others = 0;        // LeaseTable::set_budget()
  std::optional<int> claims_of;  // LeasePlan::claims_of of the last plan
};

// Targets of clients that are not fixed never overlap each other or what fixed ones occupy, except
// that a pin goes first: its cores are planned away from everybody, also before they are free.
LeasePlan plan_leases(const perfmodel::Machine& machine, const PlanBudget& budget,
                      std::vector<PlanClient> clients, const AllocationPolicy& policy);

}  // namespace optile::sched
