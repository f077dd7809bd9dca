#include "daemon/leases/lease_masks.h"

#include <algorithm>
#include <string>
#include <utility>

#include "sched/leases/core_assignment.h"

namespace optile::daemon {

std::optional<GrantedLease> LeaseMasks::take(const sched::LeaseChange& change, bool awaited) {
  const sched::Lease lease = change.last ? change.lease : in_force(change.id, change.lease);
  const LeaseTerms terms = terms_of(change.id, lease, change.last, awaited);
  const LeaseState& state = state_of(change.id);
  const bool waits = state.waits && !change.last;
  if (waits && (terms.units.empty() || !differs(state, terms))) return std::nullopt;
  GrantedLease granted = set(change.id, terms);
  granted.last = change.last;
  granted.reason = change.reason;
  return granted;
}

std::vector<GrantedLease> LeaseMasks::take_ownership(bool awaited) {
  std::vector<GrantedLease> granted;
  for (const auto& [id, client] : clients_) {
    if (!client.has_lease()) continue;
    const sched::Lease& granted_now = table_.ownership().granted(id);
    if (granted_now.empty() && !client.state->waits) continue;
    const sched::Lease lease = in_force(id, granted_now);
    const LeaseTerms terms = terms_of(id, lease, false, awaited);
    if (terms.units.empty() || !differs(*client.state, terms)) continue;
    granted.push_back(set(id, terms));
    std::string& reason = granted.back().reason;
    reason = sched::client_name(id) + " has " + std::to_string(terms.own) +
             (terms.own == 1 ? " core" : " cores") + " of its own";
    if (terms.lent > 0) reason += " and " + std::to_string(terms.lent) + " lent";
    reason += ": " + table_.summary().cause;
  }
  return granted;
}

// Who waits uses nothing. It keeps the masks and widths of its own, whatever of that is lent, and
// so runs at once when it wakes; a pin or a pause holds for it as well.
sched::Lease LeaseMasks::in_force(uint64_t client, const sched::Lease& lease) const {
  if (!state_of(client).waits) return lease;
  const std::optional<sched::LeaseView> view = table_.view(client);
  if (!view || view->pinned || view->paused) return lease;
  const bool lends =
      std::includes(view->lends.begin(), view->lends.end(), lease.cores.begin(), lease.cores.end());
  return lends ? sched::Lease{view->lends, 1.0} : lease;
}

LeaseTerms LeaseMasks::terms_of(uint64_t client, const sched::Lease& lease, bool last,
                                bool awaited) const {
  LeaseTerms terms;
  terms.units = sched::units_of(table_.resources().machine, table_.resources().budget, lease.cores);
  if (!needs_no_mask(client, lease, last, awaited)) terms.mask = terms.units;
  terms.in_turns = lease.fraction < 1;
  terms.lent = state_of(client).waits ? 0 : table_.view(client)->lent;
  terms.own = terms.in_turns ? 0 : static_cast<int>(lease.cores.size()) - terms.lent;
  return terms;
}

bool LeaseMasks::differs(const LeaseState& state, const LeaseTerms& terms) {
  return terms.own != state.granted || terms.lent != state.lent || terms.mask != state.units;
}

GrantedLease LeaseMasks::set(uint64_t id, const LeaseTerms& terms) {
  LeaseState& state = state_of(id);
  if (terms.own != state.granted) ++moves_;
  state.lent = terms.lent;
  state.granted = terms.own;
  // Of turns only the fraction may have changed.
  if (!state.confined || terms.mask != state.units) {
    confine_(id, state.pid, terms.mask);
  }
  state.confined = true;
  state.units = terms.mask;
  GrantedLease one;
  one.client = id;
  one.units = terms.units;
  one.own_units = terms.units;
  if (terms.lent > 0) {
    one.own_units = sched::units_of(table_.resources().machine, table_.resources().budget,
                                    table_.own_cores(id));
  }
  one.cores = std::max(1, terms.own);
  one.lent = terms.lent;
  one.in_turns = terms.in_turns;
  return one;
}

// With all cores there is nothing to confine it from. Beside others that nobody confines, the
// kernel knows better where it finds room: there the width alone follows the lease.
bool LeaseMasks::needs_no_mask(uint64_t client, const sched::Lease& lease, bool last,
                               bool awaited) const {
  if (lease.fraction < 1) return false;
  if (awaited) return last;  // it is not alone
  // What is lent is written down as a mask, or the next daemon would know of nobody there.
  const bool few = static_cast<int>(lease.cores.size()) < table_.resources().budget.cores;
  if (!few &&
      lease.cores == sched::budget_cores(table_.resources().machine, table_.resources().budget)) {
    return table_.view(client)->lent == 0;
  }
  if (table_.client_count() != 1 || last) return last;
  const std::optional<sched::LeaseView> view = table_.view(client);
  return !view || !view->pinned;
}

void LeaseMasks::repeat(uint64_t client, int pid) const {
  const auto found = clients_.find(client);
  if (found == clients_.end() || !found->second.has_lease()) {
    confine_(client, pid, {});
  } else if (found->second.state->confined) {
    confine_(client, pid, found->second.state->units);
  }
}

}  // namespace optile::daemon
