// Whose cores are whose while clients wait: what is lent, what goes back, and what those who were
// away find again. On the records of a lease table; pure.
#pragma once

#include <set>

#include "sched/leases/lease_record.h"

namespace optile::sched {

// What the other clients that wait take back when they wake; those that are away lend nothing.
std::set<int> home_cores_of_others(const LeaseRecords& records, ClientId id);

// It waits from now on: what is its own becomes its home.
void begin_loan(LeaseRecords& records, ClientId id);

// What stays with a client for good is its own and nothing else: of what it was lent nothing, and
// all that it lends.
void end_loan(LeaseRecords& records, ClientId id);

// The others are planned for as if it were not here.
void go_away(LeaseRecords& records, ClientId id);

// The division from before counts as the one that is held, so that nobody's cores are others for
// its return than they were, unless that pays; where somebody came since, cores are divided anew.
// What others that wait would take back of its cores meanwhile is its own again.
void come_back(LeaseRecords& records, ClientId id);

}  // namespace optile::sched
