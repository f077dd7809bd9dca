// Which cores a client may use, apart from its lease and within it. Pure.
#pragma once

#include <optional>
#include <vector>

#include "daemon/leases/managed_client.h"
#include "perfmodel/machine/budget.h"
#include "perfmodel/machine/machine.h"

namespace optile::daemon {

// A runtime that looks at the machine binds its thread to one unit after the other, just when the
// program attaches: what it came with (these units) counts then. `ours`: the daemon's budget,
// `now`: as it is read of the process.
perfmodel::Budget budget_at_start(const perfmodel::Machine& machine, const perfmodel::Budget& ours,
                                  const perfmodel::Budget& now, const std::vector<int>& units);

// Of one whose masks were set by us, or by whoever bound it: these are no budget; what its cpuset
// leaves of what it came with is.
perfmodel::Budget remaining_budget(const perfmodel::Machine& machine, perfmodel::Budget at_attach,
                                   const perfmodel::Budget& now);

// The cores that it may use of ours where whoever started it bound it to a part of them (mpirun,
// taskset, a cpuset of its own): that is the user's choice. None: it may use them all. nullopt: it
// may use no core of ours.
std::optional<std::vector<int>> bound_cores(const perfmodel::Machine& machine,
                                            const perfmodel::Budget& ours,
                                            const perfmodel::Budget& its);

// What it may use of what the kernel grants it, with that lease.
perfmodel::Budget budget_within(const perfmodel::Machine& machine, const perfmodel::Budget& now,
                                const std::optional<GrantedLease>& lease);

}  // namespace optile::daemon
