// Who may be using which core: the leases that were sent and not yet confirmed count as much as the
// confirmed one. Owned by the lease table; one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <vector>

#include "sched/leases/lease.h"

namespace optile::sched {

class CoreOwnership {
 public:
  explicit CoreOwnership(int cores) : users_(static_cast<std::size_t>(cores)) {}

  // Calls that name a client need one that was added and not removed.
  void add(ClientId id);
  void remove(ClientId id);  // gone: all it had is free at once

  // The part of a core that nobody else may be using.
  double room(ClientId id, int core) const;
  bool fits(ClientId id, const Lease& lease) const;

  // The lease counts from now on, and all older ones do so until it is confirmed. It has to fit.
  // Returns its number, 1 and up, never used twice.
  uint64_t send(ClientId id, Lease lease, uint64_t tick);
  // The client uses this lease and nothing beyond it. False: no such lease is open.
  bool confirm(ClientId id, uint64_t sequence);

  const Lease& granted(ClientId id) const;                // the last that was sent
  std::map<int, double> held(ClientId id) const;          // what it may be using: core and fraction
  std::size_t unconfirmed(ClientId id) const;             // leases
  std::optional<uint64_t> owes_since(ClientId id) const;  // tick of the oldest unconfirmed one
  // Somebody else that may be using this core; nullopt when nobody does.
  std::optional<ClientId> other_user(ClientId id, int core) const;
  double used(int core) const;  // sum of fractions
  double used_cores() const;    // the same of all cores

 private:
  struct Sent {
    uint64_t sequence = 0;
    uint64_t tick = 0;
    Lease lease;
  };
  struct Account {
    Lease confirmed;
    std::deque<Sent> sent;
    std::vector<int> counted;  // cores on which users_ has it
  };
  struct Users {
    std::map<ClientId, double> fractions;
    int64_t sum = 0;  // of them, in kGrains: whole numbers come and go without a trace
  };
  void count(ClientId id);
  static std::map<int, double> fractions(const Account& account);

  std::map<ClientId, Account> accounts_;
  std::vector<Users> users_;  // by core
  uint64_t last_sequence_ = 0;
};

}  // namespace optile::sched
