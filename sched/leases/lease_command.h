// What the user says about the lease of a client. A plain value.
#pragma once

#include <cstdint>
#include <vector>

#include "sched/leases/lease.h"

namespace optile::sched {

// It binds until it is taken back. Of a pin kInvalid: a core is not in the budget, or not among
// those that the client is bound to; kUnavailable: another pin has one of them, or nothing would be
// left for other clients.
struct LeaseCommand {
  // A pause: its lease stays as it is, whatever the others do; what is its own, it neither lends
  // nor borrows. A detachment: its cores go back when it confirms, then the table forgets it;
  // kAttach is for whoever gives it a lease again, and none for a table.
  enum class Kind { kShare, kPin, kUnpin, kPause, kResume, kDetach, kAttach };
  ClientId client = 0;
  Kind kind = Kind::kShare;
  double share = 1.0;
  // Of the machine, not processing units. Of a pin; of a pause that is said again: the lease that
  // it keeps, as far as it is in the budget and no other such command has it.
  std::vector<int> cores = {};
  bool bounded = false;  // said by a user among several: not beyond his part (UserBounds)
  double fraction{1.0};  // of these cores, in turns
  // It was in force before this client came or was attached again. That a pin leaves nothing for
  // others, as it may have done already, is no reason to refuse it then.
  bool again{false};
};

}  // namespace optile::sched
