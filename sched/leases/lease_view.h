// What others may see of leases: those of one client, and counts of all. Plain values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "sched/leases/lease.h"

namespace optile::sched {

struct LeaseView {
  ClientId id = 0;
  Lease granted;     // the last that was sent
  Lease target;      // what it gets once others gave it up
  int claim = 0;     // cores it is owed
  int borrowed = 0;  // beyond its claim, by the plan
  int lent = 0;      // of the granted cores: those of others
  double weight = 1.0;
  Priority priority = Priority::kNormal;
  bool idle = false;
  bool away = false;  // idle for so long that it has no claim
  bool paused = false;
  bool pinned = false;
  bool bound = false;      // by whoever started it
  bool late = false;       // did not confirm in time; its cores stay counted
  std::vector<int> lends;  // cores that go back to it when it wakes
  std::string reason;      // of the last change
};

// Ever since the table was made.
struct LeaseCounters {
  uint64_t plans = 0;
  uint64_t plans_kept = 0;  // that changed nothing
  uint64_t changes = 0;
  uint64_t cores_granted = 0;  // that a client did not have in the lease before
  uint64_t late = 0;
  uint64_t emptied = 0;  // leases taken whole for a moment, because clients waited for each other
  uint64_t operations = 0;
};

// All clients together, now and ever since.
struct LeaseSummary {
  std::size_t away = 0;   // clients
  double held_cores = 0;  // that all may be using
  int lent_cores = 0;     // beyond claims
  std::string cause;      // of the plan in force
  LeaseCounters counters;
};

}  // namespace optile::sched
