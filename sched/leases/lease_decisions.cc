// The deciding half of the lease table: when a new plan is due, and what of it may be sent now.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <iomanip>
#include <sstream>
#include <utility>

#include "sched/leases/lease_table.h"

namespace optile::sched {
namespace {

constexpr double kGainWorthSaying = 0.005;

bool whole(const Lease& lease) {
  return lease.fraction >= 1.0 - kSameFraction;
}

std::string size_of(const Lease& lease) {
  if (lease.empty()) return "no core";
  if (!whole(lease)) {
    std::ostringstream text;
    text << std::fixed << std::setprecision(2) << lease.fraction << " of core "
         << lease.cores.front();
    return text.str();
  }
  return std::to_string(lease.cores.size()) + (lease.cores.size() == 1 ? " core" : " cores");
}

bool same(const Lease& a, const Lease& b) {
  return a.cores == b.cores && (a.empty() || std::abs(a.fraction - b.fraction) <= kSameFraction);
}

bool has(const Lease& lease, int core) {
  return std::binary_search(lease.cores.begin(), lease.cores.end(), core);
}

// Whether `next` asks for nothing that `before` did not have.
bool only_gives_up(const Lease& before, const Lease& next) {
  return next.empty() || (next.fraction <= before.fraction + kSameFraction &&
                          std::includes(before.cores.begin(), before.cores.end(),
                                        next.cores.begin(), next.cores.end()));
}

double progress_with(const LeaseDemand& demand, int cores) {
  double best = 0;
  const auto end = std::min(demand.progress.size(), static_cast<std::size_t>(std::max(0, cores)));
  for (std::size_t n = 0; n < end; ++n) best = std::max(best, demand.progress[n]);
  return best;
}

std::string joined(const std::vector<std::string>& causes) {
  std::string text;
  for (std::size_t i = 0; i < causes.size() && i < kMostCauses; ++i) {
    text += (i == 0 ? "" : ", ") + causes[i];
  }
  return text + (causes.size() > kMostCauses ? " and more" : "");
}

}  // namespace

std::vector<LeaseChange> LeaseTable::decide(uint64_t tick) {
  mark_late(tick);
  if (stale_) plan();
  std::vector<LeaseChange> changes;
  for (const bool growing : {false, true}) {
    for (auto& [id, client] : clients_) {
      if (ledger_.unconfirmed(id) >= kMostUnconfirmed) continue;
      const Lease& before = ledger_.granted(id);
      // These two have to hear of it even where nothing changes.
      const bool announce = (client.revoked && ledger_.unconfirmed(id) == 0) ||
                            (client.detached && !client.dismissed);
      if (!announce && same(before, client.target)) continue;
      Lease next = next_lease(id, client);
      if (same(before, next) && !announce) continue;
      if (only_gives_up(before, next) != growing) send(id, client, std::move(next), tick, changes);
    }
  }
  if (changes.empty()) break_deadlock(tick, changes);
  return changes;
}

void LeaseTable::mark_late(uint64_t tick) {
  for (auto& [id, client] : clients_) {
    const auto since = ledger_.owes_since(id);
    if (!since || client.late || client.revoked || tick - *since <= settings_.confirm_ticks) {
      continue;
    }
    client.late = true;
    if (!client.detached) client.target = ledger_.granted(id);
    ++counters_.late;
    request_replan(client_name(id) + " does not answer");
  }
}

PlanClient LeaseTable::plan_client(ClientId id, const Client& client) const {
  PlanClient made;
  made.demand = client.demand;
  if (client.paused) made.demand.borrows = Borrowing::kNothing;  // what it gets now, it keeps
  made.target = client.target;
  made.home = client.home;
  made.pin = client.pin;
  made.bound = client.bound;
  const bool paused = client.paused && !client.target.empty();
  made.fixed = client.late || client.revoked || client.detached || (paused && client.pin.empty());
  if (!made.fixed) return made;
  made.occupied = ledger_.held(id);
  for (int core : client.target.cores) {
    double& fraction = made.occupied[core];
    fraction = std::max(fraction, client.target.fraction);
  }
  return made;
}

void LeaseTable::plan() {
  std::vector<PlanClient> clients;
  std::vector<bool> fixed;
  clients.reserve(clients_.size());
  for (const auto& [id, client] : clients_) {
    clients.push_back(plan_client(id, client));
    fixed.push_back(clients.back().fixed);
  }
  const LeasePlan planned = plan_leases(machine_, {budget_, left_to_others_, claims_of_},
                                        std::move(clients), settings_.policy);
  cause_ = joined(causes_);
  causes_.clear();
  stale_ = false;
  claims_of_ = planned.claims_of;
  bool kept = true;
  for (std::size_t i = 0; i < fixed.size(); ++i) {
    const PlannedLease& lease = planned.leases[i];
    Client& client = clients_.at(lease.id);
    LeaseDemand& demand = client.demand;
    const bool in_pool = !fixed[i] && (client.pin.empty() || lease.used > 0);
    const int own = whole(lease.target) ? static_cast<int>(lease.target.cores.size()) : 0;
    const int used = in_pool ? lease.used : own;
    client.gain =
        demand.idle
            ? 0.0
            : demand.weight * (progress_with(demand, used) - progress_with(demand, demand.used));
    demand.claimed = in_pool ? lease.claim : own;
    demand.used = used;
    if (!demand.idle) client.home.clear();
    const bool as_before = same(client.target, lease.target);
    kept = kept && as_before;
    client.target = lease.target;
    // The budget took all of a paused lease: next time it is planned like any other.
    if (client.paused && fixed[i] && client.target.empty()) renew();
  }
  ++counters_.plans;
  if (kept) ++counters_.plans_kept;
  counters_.operations += planned.allocation.operations;
}

// As much of the target as nobody else may be using. A client that could have none of it keeps one
// core meanwhile.
Lease LeaseTable::next_lease(ClientId id, const Client& client) const {
  const Lease& target = client.target;
  const Lease& granted = ledger_.granted(id);
  Lease next;
  next.fraction = target.fraction;
  for (int core : target.cores) {
    if (ledger_.fits(id, {{core}, target.fraction})) next.cores.push_back(core);
  }
  if (!next.empty()) return next;
  if (target.empty() || granted.empty()) return {};
  const auto shared = std::find_if(granted.cores.begin(), granted.cores.end(),
                                   [&target](int core) { return has(target, core); });
  const bool stays = shared != granted.cores.end();
  next.cores.push_back(stays ? *shared : granted.cores.front());
  next.fraction = stays ? std::min(granted.fraction, target.fraction) : granted.fraction;
  return next;
}

void LeaseTable::send(ClientId id, Client& client, Lease next, uint64_t tick,
                      std::vector<LeaseChange>& changes) {
  LeaseChange change;
  change.id = id;
  change.before = ledger_.granted(id);
  change.last = client.detached;
  change.gain = client.gain;
  change.cause = cause_for(client);
  change.reason = reason_for(id, client, change.before, next);
  for (int core : next.cores) counters_.cores_granted += has(change.before, core) ? 0U : 1U;
  ++counters_.changes;
  client.reason = change.reason;
  client.dismissed = client.detached;
  change.lease = next;
  change.sequence = ledger_.send(id, std::move(next), tick);
  changes.push_back(std::move(change));
}

// Clients that each keep their only core until another's is free wait for ever. One of them has to
// be without for a moment.
void LeaseTable::break_deadlock(uint64_t tick, std::vector<LeaseChange>& changes) {
  Client* stuck = nullptr;
  ClientId stuck_id = 0;
  for (auto& [id, client] : clients_) {
    if (client.late) continue;
    if (ledger_.unconfirmed(id) > 0) return;
    const Lease& granted = ledger_.granted(id);
    const Lease& target = client.target;
    const bool keeps = !granted.empty() && !target.empty() &&
                       std::none_of(granted.cores.begin(), granted.cores.end(),
                                    [&target](int core) { return has(target, core); });
    if (keeps && stuck == nullptr) {
      stuck = &client;
      stuck_id = id;
    }
  }
  if (stuck == nullptr) return;
  ++counters_.emptied;
  send(stuck_id, *stuck, {}, tick, changes);
}

std::string LeaseTable::reason_for(ClientId id, const Client& client, const Lease& before,
                                   const Lease& next) const {
  std::string reason = client_name(id) + " from " + size_of(before) + " to " + size_of(next);
  for (int core : client.target.cores) {
    if (has(next, core)) continue;
    reason += " of " + size_of(client.target);
    const auto other = ledger_.other_user(id, core);
    if (other) reason += ", more once " + client_name(*other) + " has given it up";
    break;
  }
  return reason + ": " + cause_for(client);
}

std::string LeaseTable::cause_for(const Client& client) const {
  if (std::abs(client.gain) < kGainWorthSaying) return cause_;
  std::ostringstream gain;
  gain << std::showpos << std::fixed << std::setprecision(2) << client.gain;
  return cause_ + "; predicted progress " + gain.str();
}

std::string whole_change_text(const Lease& before, const LeaseChange& last) {
  return client_name(last.id) + " from " + size_of(before) + " to " + size_of(last.lease) + ": " +
         last.cause;
}

}  // namespace optile::sched
