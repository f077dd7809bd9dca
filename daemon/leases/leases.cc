#include "daemon/leases/leases.h"

#include <algorithm>
#include <cstddef>
#include <set>
#include <utility>

#include "sched/leases/core_assignment.h"

namespace optile::daemon {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kLongestUnknown{10000};
constexpr std::size_t kFewestSeen = 2;  // steps on the cores that it has
constexpr int kMostRounds = 8;          // of giving up and taking
// The first two figures of others' load are taken over this long at least: the kernel counts in
// hundredths of a second. One over more than the longest says little about now.
constexpr milliseconds kShortestFirstLook{300};
constexpr milliseconds kLongestLook{60000};
constexpr milliseconds kForeseen{10000};  // those who are started together come within this

// Cores confirmed at once: nobody is ever late.
sched::LeaseSettings settings() {
  sched::LeaseSettings settings;
  sched::ProgressThresholds thresholds;
  thresholds.horizon_seconds = 10;
  settings.policy = std::make_shared<sched::ProgressPolicy>(thresholds);
  return settings;
}

}  // namespace

Leases::Leases(const perfmodel::Machine& machine, const perfmodel::Budget& budget,
               Dependencies dependencies)
    : table_(machine, budget, settings()),
      dependencies_(std::move(dependencies)),
      budget_(budget),
      reservations_(dependencies_.held_before, dependencies_.began) {}

void Leases::arrive(uint64_t client, int pid, int cores, double share, sched::Priority priority) {
  if (!table_.arrive(client, share, priority).ok()) return;
  Client& fresh = clients_[client];
  fresh.pid = pid;
  fresh.cores = std::max(1, cores);
  fresh.party = {client, 0, "", share, priority};
  arrived_.push_back(pid);
  weights_due_ = true;
  pace_.news();
}

void Leases::set_owner(uint64_t client, unsigned uid, const std::string& job,
                       const std::vector<int>& bound_to) {
  const auto found = clients_.find(client);
  if (found == clients_.end()) return;
  found->second.party.uid = uid;
  found->second.party.job = job;
  (void)table_.update(client, {.bound = bound_to});
  weights_due_ = true;
}

void Leases::bind(uint64_t client, const std::vector<int>& bound_to) {
  if (!clients_.contains(client) || !table_.update(client, {.bound = bound_to}).ok()) return;
  pace_.news();
}

LeaseParty Leases::party(uint64_t client) const {
  const auto found = clients_.find(client);
  return found == clients_.end() ? LeaseParty() : found->second.party;
}

std::map<uint64_t, LeaseWeight> Leases::weights() const {
  std::vector<LeaseParty> parties;
  parties.reserve(clients_.size());
  for (const auto& [id, client] : clients_) parties.push_back(client.party);
  return lease_weights(parties, dependencies_.by_user);
}

void Leases::weigh_if_due() {
  if (!std::exchange(weights_due_, false)) return;
  for (const auto& [id, weight] : weights()) {
    clients_.at(id).weight = weight;
    (void)table_.update(id, {.weight = weight.weight});
  }
}

std::vector<sched::LeaseView> Leases::view() const {
  std::vector<sched::LeaseView> views = table_.view();
  if (!weights_due_) return views;
  const std::map<uint64_t, LeaseWeight> fresh = weights();
  for (sched::LeaseView& one : views) {
    const auto found = fresh.find(one.id);
    if (found != fresh.end()) one.weight = found->second.weight;
  }
  return views;
}

// Batch clients take nothing from others, and others are before them.
double Leases::part_of(const LeaseParty& newcomer, double expected) const {
  constexpr uint64_t kNewcomer = 0;  // no client's
  constexpr uint64_t kExpected = UINT64_MAX;
  std::vector<LeaseParty> parties = {newcomer};
  parties[0].client = kNewcomer;
  if (expected > 0) parties.push_back({kExpected, newcomer.uid, "", expected, newcomer.priority});
  for (const auto& [id, client] : clients_) {
    if (client.party.priority > newcomer.priority) continue;
    parties.push_back(client.party);
    parties.back().priority = newcomer.priority;
  }
  return lease_weights(parties, dependencies_.by_user).at(kNewcomer).part;
}

void Leases::leave(uint64_t client, const std::string& how) {
  const auto leaving = clients_.find(client);
  if (leaving == clients_.end()) return;
  // What it used since the last reading would pass for others', if that does not know it.
  if (load_ && !load_->processes.contains(leaving->second.pid)) {
    load_.reset();
    foreseen_ = false;
  }
  clients_.erase(leaving);
  lending_.forget(client);
  if (clients_.empty()) external_ = {};  // who comes next comes into another world
  weights_due_ = true;
  if (!table_.leave(client, how).ok()) return;
  pace_.news();
}

void Leases::expect_launch(milliseconds now, int launcher) {
  if (!dependencies_.read_load || !clients_.empty()) return;
  if (load_ && foreseen_ && now - load_read_ < kForeseen) return;
  load_ = dependencies_.read_load(launcher > 0 ? std::vector{launcher} : std::vector<int>());
  load_read_ = now;
  foreseen_ = true;
}

void Leases::set_budget(const perfmodel::Budget& budget, milliseconds now, bool more_to_come) {
  on_reattach(now);
  // Who is still to come keeps cores busy that are its own.
  const bool more = more_to_come || reservations_.keeps_some();
  if (dependencies_.read_load) follow_load(budget, now, more);
  budget_ = budget;
  cut_budget();
}

void Leases::on_reattach(milliseconds now) {
  bool changed = false;
  if (reservations_.due(now)) {
    std::set<int> attached;
    for (const auto& [id, client] : clients_) attached.insert(client.pid);
    changed = reservations_.look(attached, now);
  } else {
    for (const int pid : arrived_) changed = reservations_.came(pid) || changed;
  }
  arrived_.clear();
  if (changed) cut_budget();
}

// What others keep busy, and what is kept for who is still to come, is nobody's here.
void Leases::cut_budget() {
  perfmodel::Budget left = budget_;
  left.cores = std::max(1, budget_.cores - external_.cores());
  const int to_others = budget_.cores - left.cores;
  if (reservations_.keeps_some()) {
    std::vector<int> units = budget_.units;
    std::erase_if(units, [this](int unit) { return reservations_.units().contains(unit); });
    left = sched::within(table_.resources().machine, std::move(left), units);
  }
  if (table_.set_budget(std::move(left), to_others)) pace_.news();
}

void Leases::follow_load(const perfmodel::Budget& budget, milliseconds now, bool more_to_come) {
  const milliseconds passed = now - load_read_;
  const bool waits_for_more = more_to_come && !external_.has_figure();
  const bool too_early = passed < (waits_for_more ? kForeseen : kShortestFirstLook);
  if (load_ && !clients_.empty() && !external_.known() && too_early) return;
  std::vector<int> pids;
  std::set<int> used;
  for (const auto& [id, client] : clients_) {
    pids.push_back(client.pid);
    const std::vector<int>& units = client.units.empty() ? budget.units : client.units;
    used.insert(units.begin(), units.end());
  }
  LoadReading reading = dependencies_.read_load(pids);
  // A launcher that is no client may have become one's parent, which is of the same run.
  if (load_ && std::exchange(foreseen_, false)) {
    std::erase_if(load_->processes, [&](const auto& one) {
      const bool is_client = reading.processes.contains(one.first);
      if (!is_client) load_->relatives.insert(one);
      return !is_client;
    });
  }
  if (load_ && !clients_.empty() && passed <= kLongestLook) {
    if (const auto load = external_load_between(*load_, reading, budget.units, used)) {
      external_.feed(*load, passed);
    }
  }
  load_ = std::move(reading);
  load_read_ = now;
}

void Leases::demand(uint64_t client, const std::vector<double>& predicted, double measured,
                    bool settled) {
  const auto found = clients_.find(client);
  if (found == clients_.end()) return;
  Client& known = found->second;
  known.settled = settled;
  if (settled && measured > 0 && known.granted > 0 && known.lent == 0) {
    known.curve.measure(known.granted, measured);
  }
  // The table hears of it when it is to decide.
  if (known.curve.predict(predicted)) known.told.reset();
}

void Leases::set_current_step(uint64_t client, uint32_t step_number, const CurveSubject& about) {
  const auto found = clients_.find(client);
  if (found == clients_.end() || !found->second.curve.set_current_step(step_number, about)) return;
  found->second.told.reset();
  found->second.unknown_since.reset();
}

void Leases::recall(uint64_t client, EarlierCurve curve) {
  const auto found = clients_.find(client);
  if (found == clients_.end()) return;
  found->second.curve.recall(std::move(curve), found->second.cores);
}

std::optional<EarlierCurve> Leases::learned(uint64_t client, int64_t when) const {
  const auto found = clients_.find(client);
  return found == clients_.end() ? std::nullopt : found->second.curve.learned(when);
}

void Leases::set_wants_more(uint64_t client, bool whether) {
  const auto found = clients_.find(client);
  if (found != clients_.end()) found->second.set_wants_more = whether;
}

bool Leases::seen(uint64_t client, std::size_t steps) {
  const auto found = clients_.find(client);
  if (found == clients_.end() || clients_.size() < 2) return false;
  Client& one = found->second;
  const bool fresh = one.granted > 0 && one.granted != one.placed_on;
  if (one.placings == 0 || !fresh) return false;
  if (one.curve.progress().empty() || steps < kFewestSeen) return true;
  one.placed_on = one.granted;
  pace_.news();
  return --one.placings > 0;
}

// A curve that was measured on few cores beside others says little about more. Who is alone is
// taken as unknown, and so may use everything.
void Leases::tell_curves(milliseconds now, bool divides) {
  const bool alone = clients_.size() - table_.summary().away == 1;
  const int all = table_.resources().budget.cores;
  for (auto& [id, client] : clients_) {
    const int part = static_cast<int>(all * client.weight.part + 1e-9);
    if (client.curve.progress().empty()) {
      tell_of_newcomer(id, client, part, now);
      continue;
    }
    // Ranks wait for each other, so the sum of their progress is not what counts: each gets its
    // part of the job's cores, as far as it can use it.
    const int floor = client.weight.ranks > 1 ? std::clamp(part, 1, client.curve.useful()) : 1;
    (void)table_.update(
        id, {.borrows = !lending_.borrows(id, client.granted) ? sched::Borrowing::kNothing
                        : client.set_wants_more               ? sched::Borrowing::kAll
                                                              : sched::Borrowing::kByCurve});
    const ToldDemand told{alone, floor, client.cores};
    if (client.told == told) continue;  // there are many curves, and long ones
    if (client.has_told_curve && !divides) continue;
    const auto& curve = alone ? std::vector<double>{} : client.curve.progress();
    if (!table_.update(id, {.curve = sched::LeaseUpdate::Curve{curve, floor, client.cores}}).ok())
      continue;
    client.told = told;
    client.has_told_curve = true;
  }
}

// Of several that come together one is known first. What the others hold by then is not taken from
// them only because nothing is known of them yet; who never repeats anything loses it in the end.
void Leases::tell_of_newcomer(uint64_t id, Client& client, int part, milliseconds now) {
  if (!client.unknown_since) client.unknown_since = now;
  const bool fresh = now - *client.unknown_since < kLongestUnknown;
  const ToldDemand told{false, fresh ? std::clamp(client.granted, 1, std::max(1, part)) : 1,
                        sched::kNoLimit};
  if (client.told == told) return;
  if (table_.update(id, {.curve = sched::LeaseUpdate::Curve{{}, told.floor, told.most}}).ok())
    client.told = told;
  client.has_told_curve = false;
}

bool Leases::set_activity(uint64_t client, sched::Activity activity) {
  return table_.update(client, {.activity = activity}).ok();
}

void Leases::wait(uint64_t client) {
  const auto found = clients_.find(client);
  if (found == clients_.end() || !set_activity(client, sched::Activity::kWaits)) return;
  found->second.waits = true;
  pace_.loans();
}

void Leases::wake(uint64_t client) {
  const auto found = clients_.find(client);
  if (found == clients_.end() || !set_activity(client, sched::Activity::kWorks)) return;
  found->second.waits = false;
  pace_.loans();
}

bool Leases::away(uint64_t client) {
  const auto found = clients_.find(client);
  if (found == clients_.end() || !found->second.waits || table_.view(client)->away) return false;
  const bool news = set_activity(client, sched::Activity::kAway) && table_.view(client)->away;
  if (news) pace_.news();
  return news;
}

// Nobody waits for the end of a search after a word of the user.
base::Status Leases::apply(const sched::LeaseCommand& command) {
  base::Status done = table_.apply(command);
  if (!done.ok()) return done;
  pace_.news();
  if (command.kind == sched::LeaseCommand::Kind::kShare) {
    clients_.at(command.client).party.share = command.share;
    weights_due_ = true;
  }
  return done;
}

bool Leases::someone_searches() const {
  return std::any_of(clients_.begin(), clients_.end(),
                     [](const auto& one) { return !one.second.settled && !one.second.waits; });
}

void Leases::keep_the_last(std::vector<Granted>& granted) {
  std::set<uint64_t> told;
  std::vector<Granted> kept;
  std::reverse(granted.begin(), granted.end());
  for (Granted& one : granted) {
    if (told.insert(one.client).second) kept.push_back(std::move(one));
  }
  std::reverse(kept.begin(), kept.end());
  granted = std::move(kept);
}

std::vector<Leases::Granted> Leases::decide(milliseconds now) {
  std::vector<Granted> granted;
  const RebalanceBackoff::Turn turn = pace_.turn(now, someone_searches());
  if (turn == RebalanceBackoff::Turn::kNothing) return granted;
  weigh_if_due();
  tell_curves(now, turn == RebalanceBackoff::Turn::kDivides);
  const uint64_t moves = moves_;
  carry_out(now, granted);
  if (moves_ != moves && turn == RebalanceBackoff::Turn::kDivides) pace_.moved(now);
  return granted;
}

// Cores pass from one to the next in several steps, of which nobody has to hear but of the last.
void Leases::carry_out(milliseconds now, std::vector<Granted>& granted) {
  std::map<uint64_t, sched::Lease> before;
  const uint64_t plans = table_.summary().counters.plans;
  for (int round = 0; round < kMostRounds; ++round) {
    weigh_if_due();
    const std::vector<sched::LeaseChange> changes =
        table_.decide(static_cast<uint64_t>(std::max<int64_t>(0, now.count())));
    if (changes.empty()) break;
    for (const sched::LeaseChange& change : changes) {
      apply(change, granted);
      if (granted.empty() || granted.back().client != change.id) continue;
      const auto [first, fresh] = before.try_emplace(change.id, change.before);
      if (fresh) continue;
      granted.back().reason = sched::whole_change_text(first->second, change);
    }
  }
  if (table_.summary().counters.plans != plans) tell_whose_cores(granted);
  keep_the_last(granted);
}

std::vector<double> Leases::curve(uint64_t client) const {
  const auto found = clients_.find(client);
  return found == clients_.end() ? std::vector<double>{} : found->second.curve.progress();
}

void Leases::apply(const sched::LeaseChange& change, std::vector<Granted>& granted) {
  const auto found = clients_.find(change.id);
  if (found == clients_.end()) return;
  const sched::Lease lease = change.last ? change.lease : in_force(change.id, change.lease);
  const Terms terms = terms_of(change.id, lease, change.last);
  if (found->second.waits && !change.last && (terms.units.empty() || !differs(change.id, terms))) {
    (void)table_.confirm(change.id, change.sequence);
    return;
  }
  granted.push_back(take(change.id, terms));
  (void)table_.confirm(change.id, change.sequence);
  granted.back().last = change.last;
  granted.back().reason = change.reason;
  if (!change.last) return;
  lending_.forget(change.id);
  clients_.erase(found);
  weights_due_ = true;
}

// Cores that a client has already may come to mean something else: what was lent to it is its own
// once the lender is gone.
void Leases::tell_whose_cores(std::vector<Granted>& granted) {
  for (const auto& [id, client] : clients_) {
    const sched::Lease& granted_now = table_.ownership().granted(id);
    if (granted_now.empty() && !client.waits) continue;
    const sched::Lease lease = in_force(id, granted_now);
    const Terms terms = terms_of(id, lease, false);
    if (terms.units.empty() || !differs(id, terms)) continue;
    granted.push_back(take(id, terms));
    std::string& reason = granted.back().reason;
    reason = sched::client_name(id) + " has " + std::to_string(terms.own) +
             (terms.own == 1 ? " core" : " cores") + " of its own";
    if (terms.lent > 0) reason += " and " + std::to_string(terms.lent) + " lent";
    reason += ": " + table_.summary().cause;
  }
}

// Who waits uses nothing. It keeps the masks and widths of its own, whatever of that is lent, and
// so runs at once when it wakes; a pin or a pause holds for it as well.
sched::Lease Leases::in_force(uint64_t client, const sched::Lease& lease) const {
  if (!clients_.at(client).waits) return lease;
  const std::optional<sched::LeaseView> view = table_.view(client);
  if (!view || view->pinned || view->paused) return lease;
  const bool lends =
      std::includes(view->lends.begin(), view->lends.end(), lease.cores.begin(), lease.cores.end());
  return lends ? sched::Lease{view->lends, 1.0} : lease;
}

Leases::Terms Leases::terms_of(uint64_t client, const sched::Lease& lease, bool last) const {
  Terms terms;
  terms.units = sched::units_of(table_.resources().machine, table_.resources().budget, lease.cores);
  if (!needs_no_mask(client, lease, last)) terms.mask = terms.units;
  terms.in_turns = lease.fraction < 1;
  terms.lent = clients_.at(client).waits ? 0 : table_.view(client)->lent;
  terms.own = terms.in_turns ? 0 : static_cast<int>(lease.cores.size()) - terms.lent;
  return terms;
}

std::vector<int> Leases::own_units(uint64_t client, const Terms& terms) const {
  if (terms.lent == 0) return terms.units;
  return sched::units_of(table_.resources().machine, table_.resources().budget,
                         table_.own_cores(client));
}

bool Leases::differs(uint64_t id, const Terms& terms) const {
  const Client& client = clients_.at(id);
  return terms.own != client.granted || terms.lent != client.lent || terms.mask != client.units;
}

Leases::Granted Leases::take(uint64_t id, const Terms& terms) {
  Client& client = clients_.at(id);
  if (terms.own != client.granted) ++moves_;
  client.lent = terms.lent;
  client.granted = terms.own;
  // Of turns only the fraction may have changed.
  if (!client.confined || terms.mask != client.units) {
    dependencies_.confine(id, client.pid, terms.mask);
  }
  client.confined = true;
  client.units = terms.mask;
  Granted one;
  one.client = id;
  one.units = terms.units;
  one.own_units = own_units(id, terms);
  one.cores = std::max(1, terms.own);
  one.lent = terms.lent;
  one.in_turns = terms.in_turns;
  return one;
}

// With all cores there is nothing to confine it from. Beside others that nobody confines, the
// kernel knows better where it finds room: there the width alone follows the lease.
bool Leases::needs_no_mask(uint64_t client, const sched::Lease& lease, bool last) const {
  if (lease.fraction < 1) return false;
  if (reservations_.keeps_some()) return last;  // it is not alone
  // What is lent is written down as a mask, or the next daemon would know of nobody there.
  const bool few = static_cast<int>(lease.cores.size()) < table_.resources().budget.cores;
  if (!few &&
      lease.cores == sched::budget_cores(table_.resources().machine, table_.resources().budget)) {
    return table_.view(client)->lent == 0;
  }
  if (clients_.size() != 1 || last) return last;
  const std::optional<sched::LeaseView> view = table_.view(client);
  return !view || !view->pinned;
}

std::optional<Leases::Progress> Leases::progress(uint64_t client) const {
  const auto found = clients_.find(client);
  if (found == clients_.end() || found->second.curve.progress().empty()) return std::nullopt;
  const Client& leased = found->second;
  const ClientCurve& known = leased.curve;
  const auto cores = std::clamp<std::size_t>(static_cast<std::size_t>(std::max(leased.granted, 1)),
                                             1, known.progress().size());
  return Progress{known.progress()[cores - 1],
                  known.is_measured(leased.granted) && known.is_measured(known.useful())};
}

void Leases::confine_again(uint64_t client, int pid) {
  const auto found = clients_.find(client);
  if (found == clients_.end()) {
    dependencies_.confine(client, pid, {});
  } else if (found->second.confined) {
    dependencies_.confine(client, pid, found->second.units);
  }
}

}  // namespace optile::daemon
