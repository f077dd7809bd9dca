// How cores pass from one client to the next: what of the planned leases may be sent now, which
// changes are open, and who does not answer. Owned by the lease table; one thread.
//
// A core is never with two clients, not even for a moment: a lease grows only by cores that nobody
// may be using, that is, whose former user confirmed a lease without them or left. Leases taken in
// turns add up to one core at most by the same rule.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "sched/leases/core_ownership.h"
#include "sched/leases/lease_record.h"
#include "sched/leases/lease_view.h"

namespace optile::sched {

inline constexpr std::size_t kMostUnconfirmed = 8;  // leases of a client; it gets no more until it
                                                    // confirms one

struct LeaseChange {
  ClientId id = 0;
  uint64_t sequence = 0;  // to be confirmed with this number once the client uses nothing beyond it
  Lease lease;
  Lease before;        // the one that was sent before
  bool last = false;   // the client was detached: let it go once it confirms
  double gain = 0;     // of its weighted progress that the plan predicts; 0 where unknown
  std::string cause;   // why, and what that is predicted to bring
  std::string reason;  // one line: who, from, to, why
};

// The same line for several changes of one lease that follow each other at once: the lease before
// the first of them, and the last.
std::string whole_change_text(const Lease& before, const LeaseChange& last);

bool is_same_lease(const Lease& a, const Lease& b);

class CoreHandover {
 public:
  // `confirm_ticks`: a lease that is longer unconfirmed is late.
  CoreHandover(int cores, uint64_t confirm_ticks)
      : ownership_(cores), confirm_ticks_(confirm_ticks) {}

  // Who has become late: it keeps what it was sent. Ticks never go back.
  std::vector<ClientId> mark_late(LeaseRecords& records, uint64_t tick);
  // What to send of the targets now, those that only give up first. `cause`: of the plan in force.
  std::vector<LeaseChange> send_due(LeaseRecords& records, const std::string& cause, uint64_t tick);

  CoreOwnership& ownership() { return ownership_; }
  const CoreOwnership& ownership() const { return ownership_; }
  const LeaseCounters& counters() const { return counters_; }  // but for those of plans

 private:
  Lease next_lease(ClientId id, const LeaseRecord& record) const;
  LeaseChange send(ClientId id, LeaseRecord& record, Lease next, const std::string& cause,
                   uint64_t tick);
  std::vector<LeaseChange> break_deadlock(LeaseRecords& records, const std::string& cause,
                                          uint64_t tick);
  std::string change_text(ClientId id, const LeaseRecord& record, const LeaseChange& change) const;

  CoreOwnership ownership_;
  uint64_t confirm_ticks_;
  LeaseCounters counters_;
};

}  // namespace optile::sched
