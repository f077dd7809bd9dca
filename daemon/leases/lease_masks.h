// From leases to masks of threads: what a lease comes to for its client, and what changes for it.
// Owned by the leases, on the records of the lease manager; the daemon's one thread.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "daemon/leases/managed_client.h"
#include "sched/leases/lease_table.h"

namespace optile::daemon {

class LeaseMasks {
 public:
  // Leases::Dependencies::confine.
  using Confine = std::function<void(uint64_t client, int pid, const std::vector<int>& units)>;
  // Both outlive this.
  LeaseMasks(const sched::LeaseTable& table, ManagedClients& clients, Confine confine)
      : table_(table), clients_(clients), confine_(std::move(confine)) {}

  LeaseMasks(const LeaseMasks&) = delete;

  // Sets what a change comes to. nullopt: nothing, since its client waits. `awaited`: somebody
  // is to come back (LeaseBudget), so that nobody is alone.
  std::optional<GrantedLease> take(const sched::LeaseChange& change, bool awaited);
  // Cores that a client has already may come to mean something else: what was lent to it is its own
  // once the lender is gone.
  std::vector<GrantedLease> take_ownership(bool awaited);
  // Leases::confine_again().
  void repeat(uint64_t client, int pid) const;
  uint64_t moves() const { return moves_; }  // leases that became wider or narrower

 private:
  sched::Lease in_force(uint64_t client, const sched::Lease& lease) const;
  LeaseTerms terms_of(uint64_t client, const sched::Lease& lease, bool last, bool awaited) const;
  bool needs_no_mask(uint64_t client, const sched::Lease& lease, bool last, bool awaited) const;
  static bool differs(const LeaseState& state, const LeaseTerms& terms);
  GrantedLease set(uint64_t client, const LeaseTerms& terms);
  LeaseState& state_of(uint64_t client) { return *clients_.at(client).state; }
  const LeaseState& state_of(uint64_t client) const { return *clients_.at(client).state; }

  const sched::LeaseTable& table_;
  ManagedClients& clients_;
  Confine confine_;
  uint64_t moves_ = 0;
};

}  // namespace optile::daemon
