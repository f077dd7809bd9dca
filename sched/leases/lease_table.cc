#include "sched/leases/lease_table.h"

#include <algorithm>
#include <set>
#include <utility>

#include "sched/leases/lease_plan.h"
#include "sched/leases/loans.h"
#include "sched/leases/user_commands.h"

namespace optile::sched {
namespace {

using base::Error;
using base::ErrorKind;
using base::Status;

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

PlanClient plan_client(const LeaseRecord& record, const CoreOwnership& ownership) {
  PlanClient made;
  made.demand = record.demand;
  if (record.paused) made.demand.borrows = Borrowing::kNothing;  // what it gets now, it keeps
  made.target = record.target;
  made.home = record.home;
  made.pin = record.pin;
  made.bound = record.bound;
  const bool paused = record.paused && !record.target.empty();
  made.fixed = record.late || record.detached || (paused && record.pin.empty());
  if (!made.fixed) return made;
  made.occupied = ownership.held(record.demand.id);
  for (int core : record.target.cores) {
    double& fraction = made.occupied[core];
    fraction = std::max(fraction, record.target.fraction);
  }
  return made;
}

// Whether it has the same target as before.
bool take_plan(LeaseRecord& record, const PlannedLease& lease, bool fixed) {
  LeaseDemand& demand = record.demand;
  const bool in_pool = !fixed && (record.pin.empty() || lease.used > 0);
  const int own = lease.target.is_whole() ? static_cast<int>(lease.target.cores.size()) : 0;
  const int used = in_pool ? lease.used : own;
  record.gain =
      demand.idle
          ? 0.0
          : demand.weight * (progress_with(demand, used) - progress_with(demand, demand.used));
  demand.claimed = in_pool ? lease.claim : own;
  demand.used = used;
  if (!demand.idle) record.home.clear();
  const bool as_before = is_same_lease(record.target, lease.target);
  record.target = lease.target;
  return as_before;
}

// Of the cores that it was granted: those of others.
int lent_to(const LeaseRecord& record, const Lease& granted) {
  const LeaseDemand& demand = record.demand;
  if (demand.claimed <= 0) return 0;
  const int beyond = static_cast<int>(granted.cores.size()) - demand.claimed;
  return std::clamp(beyond, 0, std::max(0, demand.used - demand.claimed));
}

// Why a plan is due, which is empty where its setter says it: of a floor. nullopt: it is the same.
std::optional<std::string> set_curve(LeaseDemand& demand, LeaseUpdate::Curve curve) {
  if (curve.progress.size() > kMostCores) curve.progress.resize(kMostCores);
  const bool measured = demand.progress != curve.progress || demand.most != curve.most;
  if (!measured && demand.floor == curve.floor) return std::nullopt;
  demand.progress = std::move(curve.progress);
  demand.floor = curve.floor;
  demand.most = curve.most;
  return measured ? "new measurements of " + client_name(demand.id) : "";
}

// Likewise; where nobody waits, there is nothing to borrow.
std::optional<std::string> set_borrowing(LeaseDemand& demand, Borrowing how,
                                         const LeaseRecords& records) {
  const Borrowing before = std::exchange(demand.borrows, how);
  if (before == how) return std::nullopt;
  const std::string who = client_name(demand.id);
  if (how == Borrowing::kNothing) return who + " gains nothing from lent cores";
  if (before == Borrowing::kNothing) return who + " may borrow again";
  const bool somebody_waits = std::any_of(records.begin(), records.end(),
                                          [](const auto& one) { return one.second.demand.idle; });
  if (!somebody_waits) return std::nullopt;
  return who + (how == Borrowing::kAll ? " could use more cores" : " could use no more cores");
}

LeaseView view_of(ClientId id, const LeaseRecord& record, const Lease& granted) {
  LeaseView view;
  view.id = id;
  view.granted = granted;
  view.target = record.target;
  view.claim = record.demand.claimed;
  view.borrowed = std::max(0, record.demand.used - record.demand.claimed);
  view.lent = lent_to(record, granted);
  view.weight = record.demand.weight;
  view.priority = record.demand.priority;
  view.idle = record.demand.idle;
  view.away = record.demand.away;
  view.paused = record.paused;
  view.pinned = !record.pin.empty();
  view.bound = !record.bound.empty();
  view.late = record.late;
  if (record.demand.idle) view.lends = record.home;
  view.reason = record.reason;
  return view;
}

}  // namespace

LeaseTable::LeaseTable(perfmodel::Machine machine, perfmodel::Budget budget,
                       const LeaseSettings& settings)
    : resources_{std::move(machine), std::move(budget), 0},
      policy_(settings.policy),
      handover_(static_cast<int>(resources_.machine.cores.size()), settings.confirm_ticks) {}

base::Result<LeaseRecord*> LeaseTable::find(ClientId id) {
  const auto found = clients_.find(id);
  if (found == clients_.end() || found->second.detached) {
    return Error{ErrorKind::kNotFound,
                 client_name(id) + " has no lease here; see the list of clients"};
  }
  return &found->second;
}

void LeaseTable::request_replan(std::string cause, bool renews) {
  stale_ = true;
  if (renews) claims_of_.reset();
  if (cause.empty() || std::find(causes_.begin(), causes_.end(), cause) != causes_.end()) return;
  if (causes_.size() <= kMostCauses) causes_.push_back(std::move(cause));
}

Status LeaseTable::arrive(ClientId id, double weight, Priority priority) {
  if (clients_.contains(id)) {
    return Error{ErrorKind::kInvalid, client_name(id) + " is here already"};
  }
  if (Status may = check_weight(weight); !may.ok()) return may;
  if (clients_.size() >= kMostLeases) {
    return Error{ErrorKind::kUnavailable,
                 "no more than " + std::to_string(kMostLeases) + " clients can have leases"};
  }
  LeaseDemand& demand = clients_[id].demand;
  demand.id = id;
  demand.weight = weight;
  demand.priority = priority;
  handover_.ownership().add(id);
  request_replan(client_name(id) + " arrived");
  return {};
}

Status LeaseTable::leave(ClientId id, const std::string& how) {
  if (clients_.erase(id) == 0) return find(id).status();
  handover_.ownership().remove(id);
  request_replan(client_name(id) + " " + how);
  return {};
}

Status LeaseTable::update(ClientId id, LeaseUpdate update) {
  const auto found = find(id);
  if (!found.ok()) return found.status();
  LeaseRecord& record = *found.value();
  if (update.weight) {
    if (Status may = check_weight(*update.weight); !may.ok()) return may;
    record.demand.weight = *update.weight;
    request_replan("");
  }
  if (update.bound) {
    record.bound = std::move(*update.bound);
    request_replan("");
  }
  std::optional<std::string> cause;
  if (update.curve && (cause = set_curve(record.demand, std::move(*update.curve)))) {
    request_replan(*cause);
  }
  if (update.borrows && (cause = set_borrowing(record.demand, *update.borrows, clients_))) {
    request_replan(*cause);
  }
  if (update.activity) set_activity(id, record, *update.activity);
  return {};
}

void LeaseTable::set_activity(ClientId id, LeaseRecord& record, Activity activity) {
  const LeaseDemand& demand = record.demand;
  switch (activity) {
    case Activity::kWaits:
      if (demand.idle) return;
      begin_loan(clients_, id);
      request_replan(client_name(id) + " waits", false);
      return;
    case Activity::kAway:
      if (!demand.idle || demand.away || record.paused) return;
      go_away(clients_, id);
      request_replan(client_name(id) + " has waited for long");
      return;
    case Activity::kWorks: {
      if (!demand.idle) return;
      const bool was_away = demand.away;
      if (was_away) come_back(clients_, id);
      record.demand.idle = false;
      request_replan(client_name(id) + " woke", was_away);
      return;
    }
  }
}

Status LeaseTable::apply(const LeaseCommand& command) {
  const auto found = find(command.client);
  if (!found.ok()) return found.status();
  base::Result<std::string> done = carry_out(command, resources_, clients_);
  if (!done.ok()) return done.status();
  request_replan(std::move(done).value());
  return {};
}

Status LeaseTable::confirm(ClientId id, uint64_t sequence) {
  const auto found = clients_.find(id);
  if (found == clients_.end()) return find(id).status();
  CoreOwnership& ownership = handover_.ownership();
  // Of one that is not to be moved, others were planned around all that it might be using.
  const std::size_t held_before = found->second.paused ? ownership.held(id).size() : 0;
  if (!ownership.confirm(id, sequence)) {
    return Error{ErrorKind::kInvalid, client_name(id) + " confirmed lease " +
                                          std::to_string(sequence) + ", which is not open"};
  }
  LeaseRecord& record = found->second;
  if (record.dismissed && ownership.unconfirmed(id) == 0) return leave(id);
  if (record.late && ownership.unconfirmed(id) == 0) {
    record.late = false;
    request_replan(client_name(id) + " answers again");
  }
  if (record.paused && ownership.held(id).size() < held_before) {
    request_replan(client_name(id) + " has given up cores");
  }
  return {};
}

bool LeaseTable::set_budget(perfmodel::Budget budget, int left_to_others) {
  if (budget == resources_.budget && left_to_others == resources_.left_to_others) return false;
  resources_.budget = std::move(budget);
  resources_.left_to_others = left_to_others;
  const int cores = resources_.budget.cores;
  request_replan("the budget is now " + std::to_string(cores) + (cores == 1 ? " core" : " cores"));
  return true;
}

std::vector<LeaseChange> LeaseTable::decide(uint64_t tick) {
  for (const ClientId late : handover_.mark_late(clients_, tick)) {
    request_replan(client_name(late) + " does not answer");
  }
  if (stale_) plan();
  return handover_.send_due(clients_, cause_, tick);
}

void LeaseTable::plan() {
  std::vector<PlanClient> clients;
  std::vector<bool> fixed;
  clients.reserve(clients_.size());
  for (const auto& [id, record] : clients_) {
    clients.push_back(plan_client(record, handover_.ownership()));
    fixed.push_back(clients.back().fixed);
  }
  const LeasePlan planned = plan_leases(resources_, claims_of_, std::move(clients), *policy_);
  cause_ = joined(causes_);
  causes_.clear();
  stale_ = false;
  claims_of_ = planned.claims_of;
  bool kept = true;
  for (std::size_t i = 0; i < fixed.size(); ++i) {
    LeaseRecord& record = clients_.at(planned.leases[i].id);
    kept = take_plan(record, planned.leases[i], fixed[i]) && kept;
    // The budget took all of a paused lease: next time it is planned like any other.
    if (record.paused && fixed[i] && record.target.empty()) request_replan("");
  }
  ++counters_.plans;
  if (kept) ++counters_.plans_kept;
  counters_.operations += planned.allocation.operations;
}

std::vector<LeaseView> LeaseTable::view() const {
  std::vector<LeaseView> views;
  views.reserve(clients_.size());
  for (const auto& [id, record] : clients_)
    views.push_back(view_of(id, record, handover_.ownership().granted(id)));
  return views;
}

std::optional<LeaseView> LeaseTable::view(ClientId id) const {
  const auto found = clients_.find(id);
  if (found == clients_.end()) return std::nullopt;
  return view_of(id, found->second, handover_.ownership().granted(id));
}

LeaseSummary LeaseTable::summary() const {
  LeaseSummary summary;
  summary.cause = cause_;
  summary.held_cores = handover_.ownership().used_cores();
  for (const auto& [id, record] : clients_) {
    summary.away += record.demand.away ? 1 : 0;
    summary.lent_cores += std::max(0, record.demand.used - record.demand.claimed);
  }
  summary.counters = handover_.counters();
  summary.counters.plans = counters_.plans;
  summary.counters.plans_kept = counters_.plans_kept;
  summary.counters.operations = counters_.operations;
  return summary;
}

std::vector<int> LeaseTable::own_cores(ClientId id) const {
  const auto found = clients_.find(id);
  if (found == clients_.end()) return {};
  std::vector<int> own = handover_.ownership().granted(id).cores;
  const auto lent = static_cast<std::size_t>(lent_to(found->second, {own, 1.0}));
  if (lent == 0) return own;
  const std::size_t granted = own.size();
  const std::set<int> of_others = home_cores_of_others(clients_, id);
  std::erase_if(own, [&](int core) { return of_others.contains(core); });
  if (own.size() + lent != granted) return {};
  return own;
}

}  // namespace optile::sched
