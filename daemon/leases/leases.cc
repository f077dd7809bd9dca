#include "daemon/leases/leases.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <memory>
#include <set>
#include <utility>

namespace optile::daemon {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kLongestUnknown{10000};
constexpr std::size_t kFewestSeen = 2;  // steps on the cores that it has
constexpr int kMostRounds = 8;          // of giving up and taking

// Cores confirmed at once: nobody is ever late.
sched::LeaseSettings settings() {
  sched::LeaseSettings settings;
  sched::ProgressThresholds thresholds;
  thresholds.horizon_seconds = 10;
  settings.policy = std::make_shared<sched::ProgressPolicy>(thresholds);
  return settings;
}

std::map<uint64_t, LeaseWeight> weights_of(const ManagedClients& clients, bool by_user) {
  std::vector<LeaseParty> parties;
  parties.reserve(clients.size());
  for (const auto& [id, client] : clients) {
    if (client.has_lease()) parties.push_back(client.state->party);
  }
  return lease_weights(parties, by_user);
}

// Of several that come together one is known first. What the others hold by then is not taken from
// them only because nothing is known of them yet; who never repeats anything loses it in the end.
void report_newcomer(sched::LeaseTable& table, LeaseState& client, int part, milliseconds now) {
  if (!client.unknown_since) client.unknown_since = now;
  const bool fresh = now - *client.unknown_since < kLongestUnknown;
  const ReportedDemand reported{false, fresh ? std::clamp(client.granted, 1, std::max(1, part)) : 1,
                                sched::kNoLimit};
  if (client.reported == reported) return;
  const sched::LeaseUpdate::Curve unknown{{}, reported.floor, reported.most};
  if (table.update(client.party.client, {.curve = unknown}).ok()) client.reported = reported;
  client.has_reported_curve = false;
}

// Its pools are made for so many, and can use neither more nor, without harm, fewer.
void report_fixed(sched::LeaseTable& table, LeaseState& client) {
  const ReportedDemand reported{false, client.fixed, client.fixed};
  if (client.reported == reported) return;
  const sched::LeaseUpdate::Curve fixed{{}, client.fixed, client.fixed};
  if (table.update(client.party.client, {.curve = fixed}).ok()) client.reported = reported;
}

// A curve that was measured on few cores beside others says little about more. Who is alone is
// taken as unknown, and so may use everything.
void report_curves(sched::LeaseTable& table, ManagedClients& clients, const LendingTrials& lending,
                   milliseconds now, bool divides) {
  const bool alone = table.client_count() - table.summary().away == 1;
  const int all = table.resources().budget.cores;
  for (auto& [id, one] : clients) {
    if (!one.has_lease()) continue;
    LeaseState& client = *one.state;
    if (client.fixed > 0) {
      report_fixed(table, client);
      continue;
    }
    const int part = static_cast<int>(all * client.weight.part + 1e-9);
    if (client.curve.progress().empty()) {
      report_newcomer(table, client, part, now);
      continue;
    }
    // Ranks wait for each other, so the sum of their progress is not what counts: each gets its
    // part of the job's cores, as far as it can use it.
    const int floor = client.weight.ranks > 1 ? std::clamp(part, 1, client.curve.useful()) : 1;
    const auto borrows = !lending.borrows(id, client.granted) ? sched::Borrowing::kNothing
                         : client.wants_more                  ? sched::Borrowing::kAll
                                                              : sched::Borrowing::kByCurve;
    (void)table.update(id, {.borrows = borrows});
    const ReportedDemand reported{alone, floor, client.cores};
    if (client.reported == reported) continue;  // there are many curves, and long ones
    if (client.has_reported_curve && !divides) continue;
    const auto& curve = alone ? std::vector<double>{} : client.curve.progress();
    if (!table.update(id, {.curve = sched::LeaseUpdate::Curve{curve, floor, client.cores}}).ok()) {
      continue;
    }
    client.reported = reported;
    client.has_reported_curve = true;
  }
}

bool someone_searches(const ManagedClients& clients) {
  return std::any_of(clients.begin(), clients.end(), [](const auto& one) {
    const std::optional<LeaseState>& state = one.second.state;
    return state && !state->settled && !state->waits;
  });
}

// Cores pass from one to the next in several steps, of which nobody has to hear but of the last.
void keep_the_last(std::vector<GrantedLease>& granted) {
  std::set<uint64_t> told;
  std::vector<GrantedLease> kept;
  std::reverse(granted.begin(), granted.end());
  for (GrantedLease& one : granted) {
    if (told.insert(one.client).second) kept.push_back(std::move(one));
  }
  std::reverse(kept.begin(), kept.end());
  granted = std::move(kept);
}

}  // namespace

Leases::Leases(const perfmodel::Machine& machine, const perfmodel::Budget& budget,
               ManagedClients& clients, Dependencies dependencies)
    : table_(machine, budget, settings()),
      by_user_(dependencies.by_user),
      clients_(clients),
      budget_(budget, std::move(dependencies.read_load),
              RestartReservations(std::move(dependencies.held_before), dependencies.began)),
      masks_(table_, clients_, std::move(dependencies.confine)) {}

void Leases::arrive(uint64_t client, int pid, int cores, double share, sched::Priority priority) {
  if (!table_.arrive(client, share, priority).ok()) return;
  LeaseState& fresh = clients_[client].state.emplace();
  fresh.pid = pid;
  fresh.cores = std::max(1, cores);
  fresh.party = {client, 0, "", share, priority};
  budget_.note_arrival(pid);
  weights_due_ = true;
  pace_.news();
}

void Leases::weigh_if_due() {
  if (!std::exchange(weights_due_, false)) return;
  for (const auto& [id, weight] : weights_of(clients_, by_user_)) {
    clients_.at(id).state->weight = weight;
    (void)table_.update(id, {.weight = weight.weight});
  }
}

std::vector<sched::LeaseView> Leases::view() const {
  std::vector<sched::LeaseView> views = table_.view();
  if (!weights_due_) return views;
  const std::map<uint64_t, LeaseWeight> fresh = weights_of(clients_, by_user_);
  for (sched::LeaseView& one : views) {
    const auto found = fresh.find(one.id);
    if (found != fresh.end()) one.weight = found->second.weight;
  }
  return views;
}

void Leases::leave(uint64_t client, const std::string& how) {
  const auto leaving = clients_.find(client);
  if (leaving == clients_.end() || !leaving->second.has_lease()) return;
  budget_.note_departure(leaving->second.state->pid, table_.client_count() == 1);
  end_lease(client, leaving->second);
  if (!table_.leave(client, how).ok()) return;
  pace_.news();
}

void Leases::end_lease(uint64_t id, ManagedClient& client) {
  client.state.reset();
  lending_.forget(id);
  weights_due_ = true;
}

void Leases::set_budget(const perfmodel::Budget& budget, milliseconds now, bool more_to_come) {
  on_reattach(now);
  budget_.refresh(budget, clients_, now, more_to_come);
  cut_budget();
}

void Leases::on_reattach(milliseconds now) {
  if (budget_.refresh_reservations(clients_, now)) cut_budget();
}

// What others keep busy, and what is kept for who is still to come, is nobody's here.
void Leases::cut_budget() {
  perfmodel::Budget left = budget_.to_divide(table_.resources().machine);
  const int cores = budget_.as_granted().cores;
  const int to_others = cores - std::max(1, cores - budget_.left_to_others());
  if (table_.set_budget(std::move(left), to_others)) pace_.news();
}

void Leases::update(uint64_t client, ClientFacts facts) {
  const auto found = clients_.find(client);
  if (found == clients_.end() || !found->second.has_lease()) return;
  LeaseState& known = *found->second.state;
  if (facts.owner) {
    known.party.uid = facts.owner->uid;
    known.party.job = std::move(facts.owner->job);
    weights_due_ = true;
  }
  if (facts.bound_to && table_.update(client, {.bound = std::move(facts.bound_to)}).ok()) {
    pace_.news();
  }
  if (facts.earlier) known.curve.recall(std::move(*facts.earlier), known.cores);
  if (facts.step && known.curve.set_current_step(facts.step->number, facts.step->about)) {
    known.reported.reset();
    known.unknown_since.reset();
  }
  if (facts.demand) {
    const auto& [predicted, measured, settled] = *facts.demand;
    known.settled = settled;
    if (settled && measured > 0 && known.granted > 0 && known.lent == 0) {
      known.curve.measure(known.granted, measured);
    }
    // The table hears of it when it is to decide.
    if (known.curve.predict(predicted)) known.reported.reset();
  }
  if (facts.wants_more) known.wants_more = *facts.wants_more;
  if (!facts.steps_here || *facts.steps_here < kFewestSeen || known.curve.progress().empty() ||
      !is_being_placed(known, table_.client_count())) {
    return;
  }
  known.placed_on = known.granted;
  --known.placings;
  pace_.news();
}

bool Leases::set_activity(uint64_t client, sched::Activity activity) {
  const auto found = clients_.find(client);
  if (found == clients_.end() || !found->second.has_lease()) return false;
  LeaseState& known = *found->second.state;
  const bool goes_away = activity == sched::Activity::kAway;
  if (goes_away && (!known.waits || table_.view(client)->away)) return false;
  if (!table_.update(client, {.activity = activity}).ok()) return false;
  if (goes_away) {
    const bool news = table_.view(client)->away;
    if (news) pace_.news();
    return news;
  }
  const bool waits = activity == sched::Activity::kWaits;
  const bool news = std::exchange(known.waits, waits) != waits;
  pace_.loans();
  return news;
}

// Nobody waits for the end of a search after a command of the user.
base::Status Leases::apply(const sched::LeaseCommand& command) {
  base::Status done = table_.apply(command);
  if (!done.ok()) return done;
  pace_.news();
  if (command.kind == sched::LeaseCommand::Kind::kShare) {
    clients_.at(command.client).state->party.share = command.share;
    weights_due_ = true;
  }
  return done;
}

std::vector<GrantedLease> Leases::decide(milliseconds now) {
  std::vector<GrantedLease> granted;
  const RebalanceBackoff::Turn turn = pace_.turn(now, someone_searches(clients_));
  if (turn == RebalanceBackoff::Turn::kNothing) return granted;
  weigh_if_due();
  report_curves(table_, clients_, lending_, now, turn == RebalanceBackoff::Turn::kDivides);
  const uint64_t moves = masks_.moves();
  carry_out(now, granted);
  if (masks_.moves() != moves && turn == RebalanceBackoff::Turn::kDivides) pace_.moved(now);
  return granted;
}

void Leases::carry_out(milliseconds now, std::vector<GrantedLease>& granted) {
  std::map<uint64_t, sched::Lease> before;
  const uint64_t plans = table_.summary().counters.plans;
  for (int round = 0; round < kMostRounds; ++round) {
    weigh_if_due();
    const std::vector<sched::LeaseChange> changes =
        table_.decide(static_cast<uint64_t>(std::max<int64_t>(0, now.count())));
    if (changes.empty()) break;
    for (const sched::LeaseChange& change : changes) {
      const auto found = clients_.find(change.id);
      if (found == clients_.end() || !found->second.has_lease()) continue;
      std::optional<GrantedLease> one = masks_.take(change, budget_.awaits_somebody());
      (void)table_.confirm(change.id, change.sequence);
      if (one) granted.push_back(std::move(*one));
      if (change.last) end_lease(change.id, found->second);
      if (granted.empty() || granted.back().client != change.id) continue;
      const auto [first, fresh] = before.try_emplace(change.id, change.before);
      if (!fresh) granted.back().reason = sched::whole_change_text(first->second, change);
    }
  }
  if (table_.summary().counters.plans != plans) {
    for (GrantedLease& one : masks_.take_ownership(budget_.awaits_somebody())) {
      granted.push_back(std::move(one));
    }
  }
  keep_the_last(granted);
}

}  // namespace optile::daemon
