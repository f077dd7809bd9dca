// The controller's part in leases: who gets one, what the leases hear, what follows for a client.
#include <algorithm>
#include <cmath>
#include <utility>

#include "daemon/controller/controller.h"
#include "sched/leases/core_assignment.h"

namespace optile::daemon {
namespace {

using std::chrono::milliseconds;

constexpr std::size_t kFewestLeasedSteps = 5;  // before they say what a lease is worth

// For the log: a word may be heard and change nothing.
std::string text_of(const Controller::LeaseCommand& word) {
  using Kind = Controller::LeaseCommand::Kind;
  std::string cores;
  for (const int core : word.cores) cores += " " + std::to_string(core);
  switch (word.kind) {
    case Kind::kShare:
      return "share " + std::to_string(word.share);
    case Kind::kPin:
      return "pinned to cores" + cores;
    case Kind::kUnpin:
      return "not pinned any more";
    case Kind::kPause:
      return "paused";
    case Kind::kResume:
      return "resumed";
    case Kind::kDetach:
      return "detached";
    case Kind::kAttach:
      return "attached again";
  }
  return "";
}

// Whether `later`, heard of the same client, leaves nothing of `earlier` to be kept.
bool replaces(Controller::LeaseCommand::Kind later, Controller::LeaseCommand::Kind earlier) {
  using Kind = Controller::LeaseCommand::Kind;
  switch (later) {
    case Kind::kUnpin:
      return earlier == Kind::kPin;
    case Kind::kResume:
      return earlier == Kind::kPause;
    case Kind::kDetach:
      return true;
    default:
      return later == earlier;
  }
}

perfmodel::Budget under_quota(perfmodel::Budget budget, double quota_cores) {
  budget.quota_cores = quota_cores;
  if (quota_cores <= 0) return budget;
  const int whole = std::max(1, static_cast<int>(std::ceil(quota_cores)));
  if (whole < budget.cores) {
    budget.cores = whole;
    budget.limited_by = "quota";
  }
  return budget;
}

}  // namespace

// What it may use of what the kernel grants it.
perfmodel::Budget Controller::leased(const Place& place) const {
  if (!place.lease || place.lease->units.empty()) return place.now;
  perfmodel::Budget budget = sched::within(machine_, place.now, place.lease->own_units);
  // Elsewhere altogether: it shares nothing with the others.
  if (budget.units.empty()) return place.now;
  budget.cores = std::clamp(place.lease->cores, 1, place.now.cores);
  return budget;
}

// The cores that it may use of ours where whoever started it bound it to a part of them (mpirun,
// taskset, a cpuset of its own): that is the user's word. None: it may use them all. nullopt: it
// may use no core of ours.
std::optional<std::vector<int>> Controller::binding_at_start(
    const perfmodel::Budget& at_attach) const {
  const std::vector<int> all = sched::budget_cores(machine_, budget_);
  std::vector<int> its = sched::budget_cores(machine_, at_attach);
  std::erase_if(its, [&](int core) { return !std::binary_search(all.begin(), all.end(), core); });
  if (its.empty()) return std::nullopt;
  return its.size() == all.size() ? std::vector<int>() : its;
}

// Programs that are only watched get no lease; they are load.
void Controller::lease_to(uint64_t id) {
  if (!leases_) return;
  const Place& place = clients_.at(id);
  const AttachRequest& attach_request = place.client->attach_request();
  if (!may_have_lease(attach_request)) return;
  const bool batch = attach_request.priority == OPTILE_PRIORITY_BATCH;
  // What cannot be held is load like any other, and so is one that runs where we have no core.
  const std::optional<std::vector<int>> bound_to = binding_at_start(place.at_attach);
  if (!attach_request.unseen.empty() || !bound_to) return;
  leases_->arrive(id, attach_request.pid, place.at_attach.cores, attach_request.share,
                  batch ? sched::Priority::kBatch : sched::Priority::kNormal);
  leases_->set_owner(id, attach_request.uid, attach_request.job, *bound_to);
  recall_curve(id);
  // The first lease is cut from what others leave, where that was foreseen.
  if (!leases_->knows_load()) {
    leases_->set_budget(budget_, since_start(), expected_.someone(since_start()));
  }
  leases_->on_reattach(since_start());
  enforce_quota();
  reapply(id);
  sharing_.ask_for_look();
  decide_leases_soon();
}

// A program whose teams nothing resizes has no curve of its own making, and searches nothing. What
// it does while it rests is not counted.
void Controller::tell_demand_of_team(uint64_t id, Place& place) {
  const bool works = place.lease && place.lease->whole() && !place.waiting.waiting();
  const int cores = works ? place.lease->cores + place.lease->lent : 0;
  place.pace.look(since_start(), place.client->reader().progress(),
                  place.client->plan().may_rest ? 0 : cores);
  const bool own = works && place.lease->lent == 0;
  leases_->set_current_step(id, place.pace.turns());
  leases_->demand(id,
                  place.pace.predicted(place.client->tuning().fixed_team(), place.at_attach.cores),
                  own ? place.pace.measured(cores).value_or(0) : 0, true);
}

// Where cores are not the program's own, nobody may spin on them for long; a team that is wider
// than its cores keeps itself from work by spinning.
std::optional<uint32_t> Controller::wait_cap(const Place& place) const {
  if (!place.lease) return std::nullopt;
  const bool in_turns = place.lease->in_turns || place.lease->units.empty();
  const int cores = in_turns ? 1 : place.lease->cores + place.lease->lent;
  if (place.client->tuning().fixed_team() > cores) return 0;
  if (in_turns || leases_->left_to_others() > 0) return 1;
  return std::nullopt;
}

LaunchBeside Controller::launch_beside(const perfmodel::LaunchFacts& facts,
                                       const Newcomer& newcomer) {
  if (!leases_) return {};
  const auto& [arrival, share, batch, starts, announced] = newcomer;
  if (starts) leases_->expect_launch(since_start(), arrival.pid);
  const bool may_be_expected = announced || arrival.pid > 0;
  const double expected = may_be_expected ? expected_.share_beside(arrival, since_start())
                                          : expected_.share(arrival.user, since_start());
  if (starts && !announced) expected_.expect(arrival, share, since_start());
  LaunchBeside beside{someone_works() || expected > 0, 0};
  // What follows its lease later would not become wider than it started.
  const bool follows = facts.resizes_teams || facts.marks_ops;
  if (!beside.others || follows || !facts.uses_openmp) return beside;
  const int cores = std::max(1, leases_->table().resources().budget.cores);
  const auto priority = batch ? sched::Priority::kBatch : sched::Priority::kNormal;
  const double part = leases_->part_of({0, arrival.user, "", share, priority}, expected);
  beside.width = std::clamp(static_cast<int>(cores * part + 1e-9), 1, cores);
  return beside;
}

void Controller::publish_demands() {
  for (auto& [id, place] : clients_) {
    if (!leases_->has(id)) continue;
    if (place.client->tuning().fixed_team() > 0) {
      tell_demand_of_team(id, place);
    } else if (place.client->tuning()
                   .allotment()
                   .keeps_widths()) {  // how many threads it has is not known yet
      leases_->demand(id, {}, 0, true);
    } else {
      tell_demand(id, place);
    }
  }
}

void Controller::tell_demand(uint64_t id, const Place& place) {
  const tuner::SessionSummary seen = place.client->session_summary();
  const bool settled = seen.phase == tuner::Phase::kTuned;
  // A program's first steps are slow for other reasons than its cores.
  const bool known = !settled || seen.tuned_steps >= kFewestLeasedSteps;
  const double measured =
      settled && known ? std::chrono::duration<double>(seen.tuned_step).count() : 0;
  leases_->set_current_step(
      id, seen.step_number,
      {seen.step_fingerprint, place.client->tuning().allotment().default_width()});
  leases_->demand(id,
                  known ? place.client->tuning().step_seconds_by_cores(place.at_attach.cores)
                        : std::vector<double>{},
                  measured, settled);
  leases_->set_wants_more(id, seen.has_use_for_more);
  leases_->seen(id, seen.steps_here);
}

// Who has just come is given cores when something is known of it, not at the next full second: its
// steps may be short.
void Controller::place_newcomers() {
  bool told = false;
  for (auto& [id, place] : clients_) {
    if (!leases_->seen(id, 0) || place.client->tuning().fixed_team() > 0 ||
        place.client->tuning().allotment().keeps_widths()) {
      continue;
    }
    const std::size_t steps = place.client->session_summary().steps_here;
    if (std::exchange(place.seen_steps, steps) == steps) continue;
    tell_demand(id, place);
    told = true;
  }
  if (told) decide_leases();
}

milliseconds Controller::since_start() const {
  return std::chrono::duration_cast<milliseconds>(std::chrono::nanoseconds(clocks_.monotonic_ns()));
}

void Controller::decide_leases_soon() {
  if (!later_) {
    decide_leases();
    return;
  }
  if (std::exchange(will_decide_, true)) return;
  later_([this] {
    will_decide_ = false;
    decide_leases();
  });
}

void Controller::decide_leases() {
  if (!leases_) return;
  look_for_time_sharing();
  do {
    for (Leases::Granted& granted : leases_->decide(since_start())) {
      const auto found = clients_.find(granted.client);
      if (found == clients_.end()) continue;
      take_lease(found->second, std::move(granted));
    }
  } while (end_lonely_wait());
}

// Nobody looks whether the only one that has a lease waits, since there is nobody to lend to.
// Should others come, it is found to wait again.
bool Controller::end_lonely_wait() {
  if (leases_->size() != 1) return false;
  const uint64_t id = leases_->view().front().id;
  const auto found = clients_.find(id);
  if (found == clients_.end() || !found->second.waiting.waiting()) return false;
  found->second.waiting = {};
  leases_->lending().end(id, since_start(), {});
  leases_->wake(id);
  return true;
}

void Controller::take_lease(Place& place, Leases::Granted granted) {
  // What is lent may be anybody's or nobody's: then its own are those that it had, if it may.
  if (granted.own_units.empty()) {
    const bool had = place.lease && place.lease->cores == granted.cores &&
                     !place.lease->own_units.empty() &&
                     std::includes(granted.units.begin(), granted.units.end(),
                                   place.lease->own_units.begin(), place.lease->own_units.end());
    granted.own_units = had ? place.lease->own_units : granted.units;
  }
  // What is lent comes and goes: its session hears nothing of it.
  const bool its_own_stays = place.lease && !granted.last && granted.cores == place.lease->cores &&
                             granted.own_units == place.lease->own_units &&
                             granted.in_turns == place.lease->in_turns;
  if (!granted.reason.empty()) tell_of_move(granted.client, granted.reason, its_own_stays);
  if (its_own_stays && (granted.lent != 0 || place.lease->lent != 0)) {
    place.lease->lent = granted.lent;
    publish_co_runners(place);
    return;
  }
  if (granted.last) {
    place.detached = true;
    place.lease.reset();
    place.now = budget_now(place);
  } else {
    place.lease = std::move(granted);
  }
  place.client->tuning().set_space(make_configuration_space(machine_, leased(place)));
  publish_co_runners(place);
}

// What others do with their cores and with its own. Lent cores are for ops that the plan leaves as
// wide as they may be; a search is about so many cores and no more.
void Controller::publish_co_runners(Place& place) const {
  place.client->tuning().page().set_wait_cap(wait_cap(place));
  const int lent = place.lease ? place.lease->lent : 0;
  place.client->tuning().set_lent(
      lent > 0 && place.client->session_summary().has_use_for_more ? lent : 0);
  const bool compared = place.lease && leases_->size() > 1 &&
                        leases_->lending().measures(place.client->id(), place.lease->cores);
  place.client->tuning().set_heard(compared);
}

std::optional<milliseconds> Controller::next_look() const {
  if (!leases_ || !busy_time_) return std::nullopt;
  if (leases_->size() < 2) {
    // Who shares the cores by time may have a lease again.
    if (demand_ && clients_.size() > 1) return TimeSharing::kEvery;
    return std::nullopt;
  }
  const bool waited_for = std::any_of(clients_.begin(), clients_.end(),
                                      [](const auto& one) { return one.second.waiting.waiting(); });
  return waited_for ? IdleDetector::kEveryWaiting : IdleDetector::kEvery;
}

void Controller::detect_idle() {
  if (!leases_ || !busy_time_) return;
  look_for_time_sharing();
  LendingTrials& lending = leases_->lending();
  const auto tell = [this](const std::vector<LendingTrials::Verdict>& known) {
    for (const LendingTrials::Verdict& verdict : known) {
      log_lease(verdict.client, verdict.text());
      const AttachRequest& attach_request = clients_.at(verdict.client).client->attach_request();
      Store* store = store_of(attach_request.uid);
      batches_.of(store).lending.push_back({machine_.fingerprint, program_text(attach_request),
                                            verdict.own_cores, verdict.borrows,
                                            clocks_.unix_seconds()});
      batches_.is_due(store);
    }
  };
  bool changed = false;
  for (auto& [id, place] : clients_) {
    if (!leases_->has(id)) continue;
    const int pid = place.client->attach_request().pid;
    const milliseconds now = since_start();
    const bool news = place.waiting.look(now, place.client->reader().progress(),
                                         [this, pid] { return busy_time_(pid); });
    const bool waits = place.waiting.waiting();
    if (news && waits) {
      if (!lending.begin(id, now, workers())) continue;
      leases_->wait(id);
    } else if (news) {
      tell(lending.end(id, now, workers()));
      leases_->wake(id);
    } else if (lending.holds_back(id) && lending.held_long_enough(id, now, workers())) {
      tell(lending.release(id, now, workers()));
      leases_->wait(id);
    } else if (!waits || place.waiting.quiet(now) < IdleDetector::kLongWait || !leases_->away(id)) {
      continue;
    }
    changed = true;
  }
  if (changed) decide_leases();
  // Who settles during a long wait borrows from then on.
  for (auto& [id, place] : clients_) {
    if (place.lease && (changed || place.lease->lent > 0)) publish_co_runners(place);
  }
  place_newcomers();
}

// Those whose pace says something: they have a use for more, and run on cores of their own.
std::vector<LendingTrials::Worker> Controller::workers() const {
  std::vector<LendingTrials::Worker> found;
  for (const auto& [id, place] : clients_) {
    if (!place.lease || !place.lease->whole() || place.waiting.waiting()) continue;
    const Client& client = *place.client;
    const bool team = client.tuning().fixed_team() > 0;
    if (!team && !client.session_summary().has_use_for_more) continue;
    found.push_back({id, client.reader().progress(), place.lease->cores,
                     team ? place.lease->lent : client.tuning().allotment().lent(),
                     !client.plan().may_rest});
  }
  return found;
}

void Controller::log_lease(uint64_t client, const std::string& text) {
  say_("lease: " + text);
  lease_history_.note({clocks_.unix_seconds(), client, text, false});
}

void Controller::tell_of_move(uint64_t client, const std::string& text, bool loan) {
  tell_move_(client, text);
  lease_history_.note({clocks_.unix_seconds(), client, text, loan});
}

base::Status Controller::check_bound(const LeaseCommand& word) const {
  using Kind = LeaseCommand::Kind;
  if (!word.bounded || (word.kind != Kind::kPin && word.kind != Kind::kPause)) return {};
  std::size_t cores = word.cores.size();
  const std::optional<sched::LeaseView> view = leases_->table().view(word.client);
  if (view && word.kind == Kind::kPause && word.cores.empty()) {
    // What it keeps is its own: of what it was lent nothing, and all that it lends.
    cores = view->idle ? view->lends.size() : view->granted.cores.size();
    if (view->claim > 0) cores = std::min(cores, static_cast<std::size_t>(view->claim));
  }
  return bounds_.check(*leases_, word.client, cores);
}

// A user has come: what others hold by their words may be more than their part now.
void Controller::enforce_quota() {
  for (const uint64_t client : bounds_.beyond(*leases_)) {
    for (const auto kind : {LeaseCommand::Kind::kUnpin, LeaseCommand::Kind::kResume}) {
      const LeaseCommand word{client, kind, 1.0, {}, false};
      (void)leases_->apply(word);
      keep(word);
    }
    bounds_.forget(client);
    log_lease(client, "client " + std::to_string(client) +
                          " is no longer pinned or paused: its user would hold more than his part");
  }
}

base::Status Controller::change_lease(const LeaseCommand& word) {
  base::Status done = carry_out(word);
  if (!done.ok()) return done;
  keep(word);
  retry_pending();
  return done;
}

base::Status Controller::carry_out(const LeaseCommand& word) {
  const std::string who = "client " + std::to_string(word.client);
  if (!clients_.contains(word.client)) {
    return base::Error{base::ErrorKind::kNotFound,
                       "no attached client has that number; see optile leases"};
  }
  if (word.kind == LeaseCommand::Kind::kAttach) return attach_again(word);
  if (!leases_ || !leases_->has(word.client)) {
    return base::Error{base::ErrorKind::kUnavailable,
                       who + (is_detached(word.client)
                                  ? " has no lease: it was detached; see optile attach"
                                  : " has no lease: it was started in a mode that only watches, "
                                    "or on other cores; see optile leases")};
  }
  if (base::Status may = check_bound(word); !may.ok()) return may;
  base::Status done = leases_->apply(word);
  if (!done.ok()) return done;
  const bool holds =
      word.kind == LeaseCommand::Kind::kPin || word.kind == LeaseCommand::Kind::kPause;
  if (holds && word.bounded) bounds_.note(word.client);
  const std::optional<sched::LeaseView> view = leases_->table().view(word.client);
  const bool held =
      view && (view->pinned || view->paused) && word.kind != LeaseCommand::Kind::kDetach;
  if (!held || (holds && !word.bounded)) bounds_.forget(word.client);
  log_lease(word.client, who + ", by hand: " + text_of(word));
  decide_leases();
  return {};
}

bool Controller::is_detached(uint64_t id) const {
  const auto found = clients_.find(id);
  return found != clients_.end() && found->second.detached;
}

// A lease as when it came, with what was said of it besides. It may have waited meanwhile, unseen.
base::Status Controller::attach_again(const LeaseCommand& word) {
  const std::string who = "client " + std::to_string(word.client);
  Place& place = clients_.at(word.client);
  if (!place.detached) {
    return base::Error{base::ErrorKind::kUnavailable, who + " has not been detached"};
  }
  place.detached = false;
  place.waiting = {};
  place.pace = {};
  keep(word);  // or it would be detached again at once
  log_lease(word.client, who + ", by hand: " + text_of(word));
  lease_to(word.client);
  decide_leases();
  if (leases_->has(word.client)) return {};
  return base::Error{base::ErrorKind::kUnavailable,
                     who + " gets no lease: it is bound to other cores than the daemon has"};
}

void Controller::keep(const LeaseCommand& word) {
  std::erase_if(clients_.at(word.client).unkept, [&word](const PendingCommand& earlier) {
    return replaces(word.kind, earlier.word.kind);
  });
  if (words_ == nullptr) return;
  LeaseCommand kept = word;
  if (word.kind == LeaseCommand::Kind::kPause) {
    const auto view = leases_->table().view(word.client);
    const sched::Lease lease = view ? view->target : sched::Lease();
    kept.cores = lease.cores;
    kept.fraction = lease.fraction;
  }
  words_->hear(clients_.at(word.client).client->attach_request().pid, kept);
}

// Of one that has left already nothing is to be told.
void Controller::note_mask(uint64_t id, const std::vector<int>& units) {
  const auto found = clients_.find(id);
  if (found != clients_.end()) found->second.client->tuning().page().set_held_mask(units);
}

ThreadBinding Controller::binding(uint64_t id, int tid) const {
  const auto found = clients_.find(id);
  return found != clients_.end() ? found->second.client->reader().binding(tid) : ThreadBinding();
}

// What was said of its process before it attached here, to an earlier daemon mostly.
void Controller::reapply(uint64_t id) {
  if (words_ == nullptr) return;
  Place& place = clients_.at(id);
  place.unkept.clear();
  for (LeaseCommand& word : words_->of(place.client->attach_request().pid)) {
    word.client = id;
    word.again = true;
    const base::Status done = carry_out(word);
    if (done.ok()) continue;
    log_lease(id, "client " + std::to_string(id) + ", said before it attached: " + text_of(word) +
                      "; that cannot be kept: " + done.message());
    place.unkept.push_back({word, done.message()});
  }
}

// Who stood against them may have left, or taken his own word back.
void Controller::retry_pending() {
  for (auto& [id, place] : clients_) {
    std::erase_if(place.unkept, [this](PendingCommand& one) {
      const base::Status done = carry_out(one.word);
      if (!done.ok()) one.why = done.message();
      return done.ok();
    });
  }
}

std::vector<std::string> Controller::unkept(uint64_t id) const {
  std::vector<std::string> texts;
  const auto found = clients_.find(id);
  if (found == clients_.end()) return texts;
  for (const PendingCommand& one : found->second.unkept) {
    texts.push_back(text_of(one.word) + ": " + one.why);
  }
  return texts;
}

// A runtime that looks at the machine binds its thread to one unit after the other, just when the
// program attaches: what it came with counts then.
perfmodel::Budget Controller::budget_at_start(const AttachRequest& attach_request) const {
  perfmodel::Budget now = read_budget_(attach_request.pid);
  const perfmodel::Budget came_with = sched::within(machine_, budget_, attach_request.units);
  const bool has_them = std::includes(now.units.begin(), now.units.end(), came_with.units.begin(),
                                      came_with.units.end());
  return has_them ? now : under_quota(came_with, now.quota_cores);
}

perfmodel::Budget Controller::budget_now(const Place& place) const {
  perfmodel::Budget now = read_budget_(place.client->attach_request().pid);
  // Masks that we set ourselves are no budget; what its cpuset leaves of what it came with is.
  if (!place.client->tuning().plans().was_bound() && !place.lease) return now;
  perfmodel::Budget its = place.at_attach;
  its.cores = std::max(1, static_cast<int>(sched::budget_cores(machine_, its).size()));
  if (its.limited_by == "quota") its.limited_by.clear();
  its.cpuset = now.cpuset;
  perfmodel::Budget left = sched::within(machine_, its, now.cpuset);
  if (!left.units.empty() && left.units != its.units) {
    left.limited_by = "cpuset";
    its = std::move(left);
  }
  return under_quota(std::move(its), now.quota_cores);
}

}  // namespace optile::daemon
