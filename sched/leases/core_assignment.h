// Which cores each client gets, once it is known how many. Called by the lease plan. Pure, same
// answer for the same input; any thread. Cores are indices into Machine::cores; all hardware
// threads of a core go together.
#pragma once

#include <vector>

#include "perfmodel/machine/budget.h"
#include "perfmodel/machine/machine.h"
#include "sched/leases/lease.h"

namespace optile::sched {

// Cores with at least one hardware thread in the budget, ascending. May be more than budget.cores,
// where a quota grants less than the cpuset.
std::vector<int> budget_cores(const perfmodel::Machine& machine, const perfmodel::Budget& budget);

// What is left of a budget on these processing units (os indices) alone; one core at least.
perfmodel::Budget within(const perfmodel::Machine& machine, perfmodel::Budget budget,
                         const std::vector<int>& units);

// What the kernel calls them, for masks: the os indices of these cores that are in the budget,
// ascending.
std::vector<int> units_of(const perfmodel::Machine& machine, const perfmodel::Budget& budget,
                          const std::vector<int>& cores);

struct CoreWish {
  ClientId id = 0;
  int count = 0;
  std::vector<int> held;  // where two hold the same core, the first in the list has it
};

struct CoreGrant {
  ClientId id = 0;
  std::vector<int> cores;  // ascending; fewer than wished only where `usable` ran out
};

// Disjoint cores out of `usable`. Who shrinks keeps a subset and gives up broken tiles first; who
// grows keeps what it has and takes what completes its tiles, then whole tiles on the NUMA node
// where it has most, then the rest from one tile. Only where a client would be left with more than
// one broken tile are single cores exchanged with neighbours. Nobody is moved off everything that
// it held, except onto cores that are free or that come from somebody who stays put.
std::vector<CoreGrant> assign_cores(const perfmodel::Machine& machine,
                                    const std::vector<int>& usable,
                                    const std::vector<CoreWish>& wishes);

struct TurnWish {
  ClientId id = 0;
  double weight = 1.0;
  int held_core = -1;        // where it takes turns now; -1: nowhere
  std::vector<int> bound{};  // it can use only these; empty: all
};

struct TurnCore {
  int core = 0;
  double room = 1.0;  // the part of it that is free for turns, above 0
};

struct TurnGrant {
  ClientId id = 0;
  int core = 0;  // -1: there is none that it can use
  double fraction = 0;
};

// Clients onto shared cores, as even by weight as few moves allow; on a core the fractions are by
// weight and add up to its room. Empty when there are no cores.
std::vector<TurnGrant> assign_turns(const std::vector<TurnCore>& cores,
                                    const std::vector<TurnWish>& wishes);

}  // namespace optile::sched
