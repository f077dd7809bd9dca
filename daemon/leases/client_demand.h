// What the leases hear of a client, and what it hears of others' cores: between its session and the
// leases. On the records of a lease manager.
#pragma once

#include <chrono>
#include <vector>

#include "daemon/leases/leases.h"
#include "daemon/leases/managed_client.h"
#include "daemon/leases/time_sharing.h"

namespace optile::daemon {

// What more or fewer cores would be worth to it. `now` as in Leases::decide().
void report_demand(Leases& leases, ManagedClient& one, std::chrono::milliseconds now);

// Who has just come is given cores when something is known of it, not at the next full second: its
// steps may be short. Whether there is something new.
bool report_newcomers(Leases& leases, ManagedClients& clients);

// What others do with their cores and with its own. Lent cores are for ops that the plan leaves as
// wide as they may be; a search is about so many cores and no more.
void report_co_runners(const Leases& leases, const ManagedClient& one);

// Those whose pace says something: they have a use for more, and run on cores of their own.
std::vector<LendingTrials::Worker> lending_workers(const ManagedClients& clients);

// As TimeSharing looks at it, but for its processor time.
TimeSharing::Party sharing_party(const Leases& leases, const ManagedClient& one);

}  // namespace optile::daemon
