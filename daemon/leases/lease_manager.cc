#include "daemon/leases/lease_manager.h"

#include <algorithm>
#include <ctime>
#include <utility>

#include "daemon/leases/budget_turns.h"
#include "daemon/leases/client_budget.h"
#include "daemon/leases/client_demand.h"

namespace optile::daemon {
namespace {

using std::chrono::milliseconds;

constexpr std::size_t kMostThreads = 16;  // whose demand for a processor is read, of each client

milliseconds since_start(const Clocks& clocks) {
  return std::chrono::duration_cast<milliseconds>(std::chrono::nanoseconds(clocks.monotonic_ns()));
}

std::string time_of_day(int64_t unix_seconds) {
  const auto then = static_cast<time_t>(unix_seconds);
  tm parts{};
  gmtime_r(&then, &parts);
  char text[16];
  std::strftime(text, sizeof text, "%H:%M:%S", &parts);
  return text;
}

// What everybody does beside each client.
void observe_co_runners(CoRunnerLoadWatch& watch, const ManagedClients& clients,
                        const std::vector<int>& units, milliseconds now) {
  if (!watch.is_due(now, clients.size())) return;
  std::vector<CoRunnerLoadWatch::Party> parties;
  for (const auto& [id, one] : clients) {
    const AttachRequest& attach_request = one.client->attach_request();
    const std::vector<int>& its = one.at_attach.units;
    parties.push_back({attach_request.pid, attach_request.run_id, its.empty() ? units : its,
                       &one.client->co_runner_load()});
  }
  watch.look(now, parties);
}

// Masks that we set ourselves are no budget.
perfmodel::Budget budget_now(const perfmodel::Machine& machine, const LeaseDependencies& read,
                             const ManagedClient& one) {
  perfmodel::Budget now = read.read_budget(one.client->attach_request().pid);
  if (!one.client->tuning().plans().was_bound() && !one.lease) return now;
  return remaining_budget(machine, one.at_attach, now);
}

void set_configurations(const perfmodel::Machine& machine, const ManagedClient& one) {
  one.client->tuning().set_space(
      make_configuration_space(machine, budget_within(machine, one.now, one.lease)));
}

// What is lent may be anybody's or nobody's: then its own are those that it had, if it may.
void complete_own_units(const std::optional<GrantedLease>& before, GrantedLease& granted) {
  if (!granted.own_units.empty()) return;
  const bool had = before && before->cores == granted.cores && !before->own_units.empty() &&
                   std::includes(granted.units.begin(), granted.units.end(),
                                 before->own_units.begin(), before->own_units.end());
  granted.own_units = had ? before->own_units : granted.units;
}

// Whether only what it is lent has changed, which comes and goes.
bool is_loan(const std::optional<GrantedLease>& before, const GrantedLease& granted) {
  return before && !granted.last && granted.cores == before->cores &&
         granted.own_units == before->own_units && granted.in_turns == before->in_turns;
}

// Nobody looks whether the only one that has a lease waits, since there is nobody to lend to.
// Should others come, it is found to wait again.
bool end_lonely_wait(Leases& leases, ManagedClients& clients, milliseconds now) {
  if (leases.table().client_count() != 1) return false;
  const auto found = std::find_if(clients.begin(), clients.end(),
                                  [](const auto& one) { return one.second.has_lease(); });
  if (found == clients.end() || !found->second.waiting.waiting()) return false;
  const uint64_t id = found->first;
  found->second.waiting = {};
  leases.lending().end(id, now, {});
  leases.set_activity(id, sched::Activity::kWorks);
  return true;
}

void record_lending(const std::vector<LendingTrials::Verdict>& verdicts,
                    const ManagedClients& clients, ProgramHistory& programs, LeaseLog& log) {
  for (const LendingTrials::Verdict& verdict : verdicts) {
    log.note(verdict.client, verdict.text());
    const AttachRequest& attach_request = clients.at(verdict.client).client->attach_request();
    Store* store = programs.store_of(attach_request.uid);
    programs.batches().of(store).lending.push_back({programs.on_this_machine({}).machine,
                                                    program_text(attach_request), verdict.own_cores,
                                                    verdict.borrows, programs.unix_seconds()});
    programs.batches().is_due(store);
  }
}

// Of one that leaves.
void record_curve(const ManagedClient& one, ProgramHistory& programs) {
  if (!one.has_lease()) return;
  const Client& client = *one.client;
  const int64_t now = programs.unix_seconds();
  std::optional<EarlierCurve> curve = one.state->curve.learned(now);
  if (!curve) return;
  const ClientView view = client.view(tuner::Detail::kFigures);
  curve->steered = view.session ? view.session->steerable_share : 0;
  Store* store = programs.store_of(client.attach_request().uid);
  programs.batches().of(store).curves.push_back(
      {programs.on_this_machine(client.conditions()), std::move(*curve), now});
  programs.batches().is_due_soon(store);
}

// Its part of the cores beside those that have leases; 0: it has all, since nobody is there, or its
// part is no whole core.
int cores_to_size_by(const ManagedClients& clients, const ManagedClient& one, const Leases& leases,
                     bool by_user) {
  const AttachRequest& who = one.client->attach_request();
  const int cores = leases.table().resources().budget.cores;
  if (one.sized_for > 0) return one.sized_for;
  if (leases.table().client_count() == 0 || cores < 2) return 0;
  const auto priority =
      who.priority == OPTILE_PRIORITY_BATCH ? sched::Priority::kBatch : sched::Priority::kNormal;
  const LeaseParty party{one.client->id(), who.uid, who.job, who.share, priority};
  const double part = part_beside(clients, party, 0, by_user);
  return std::min(static_cast<int>(cores * part + 1e-9), cores - 1);
}

}  // namespace

LeaseManager::LeaseManager(const perfmodel::Machine& machine, const Clocks& clocks,
                           ProgramHistory& programs, LeaseDependencies dependencies)
    : machine_(machine),
      clocks_(clocks),
      programs_(programs),
      dependencies_(std::move(dependencies)),
      budget_(dependencies_.read_budget(0)),
      bound_within_(budget_.units),
      co_runner_load_(dependencies_.read_load),
      commands_(dependencies_.persisted_commands),
      log_(clocks.unix_seconds, dependencies_.write_log, dependencies_.write_move) {
  if (!dependencies_.confine) return;
  leases_.emplace(
      machine_, budget_, clients_,
      Leases::Dependencies{dependencies_.confine, dependencies_.read_load, programs_.has_users(),
                           dependencies_.held_before, since_start(clocks_)});
}

perfmodel::Budget LeaseManager::budget_of(const AttachRequest& attach_request) const {
  return budget_at_start(machine_, budget_, dependencies_.read_budget(attach_request.pid),
                         attach_request.units);
}

void LeaseManager::arrive(Client& client, perfmodel::Budget at_attach) {
  const AttachRequest& who = client.attach_request();
  ManagedClient& one = clients_[client.id()];
  one.client = &client;
  one.now = at_attach;
  one.at_attach = std::move(at_attach);
  expected_.came({who.executable, who.uid, who.pid}, since_start(clocks_));
  observe_co_runners(co_runner_load_, clients_, budget_.units, since_start(clocks_));
  give_lease(one);
  // What earlier runs of it gained from lent cores.
  if (!one.has_lease()) return;
  for (const LendingRecord& record : programs_.find_lending(program_text(who), who.uid)) {
    leases_->lending().recall(client.id(), record.own_cores, record.borrows);
  }
}

void LeaseManager::release(uint64_t id, bool forgets) {
  observe_co_runners(co_runner_load_, clients_, budget_.units, since_start(clocks_));
  record_curve(clients_.at(id), programs_);
  if (leases_) leases_->leave(id);
  if (forgets) {
    clients_.erase(id);
    commands_.forget(id);
  }
  decide_soon();
}

// Programs that are only watched get no lease; they are load.
void LeaseManager::give_lease(ManagedClient& one) {
  if (!leases_) return;
  const Client& client = *one.client;
  const uint64_t id = client.id();
  const AttachRequest& who = client.attach_request();
  // An earlier daemon may have held it, before it came back in this way.
  if (who.whole_program) leases_->confine_again(id, who.pid);
  if (!may_have_lease(who)) return;
  const bool batch = who.priority == OPTILE_PRIORITY_BATCH;
  // What cannot be held is load like any other, and so is one that runs where we have no core.
  const auto bound_to = bound_cores(machine_, budget_, one.at_attach);
  if (!who.unseen.empty() || !bound_to) return;
  if (who.whole_program) {
    one.sized_for = cores_to_size_by(clients_, one, *leases_, programs_.has_users());
    if (one.sized_for == 0) return;
  }
  leases_->arrive(id, who.pid, one.at_attach.cores, who.share,
                  batch ? sched::Priority::kBatch : sched::Priority::kNormal);
  leases_->update(id, {.owner = ClientFacts::Owner{who.uid, who.job}, .bound_to = bound_to});
  if (one.sized_for > 0 && one.has_lease()) {
    one.state->fixed = one.sized_for;
    one.client->tuning().page().set_mask_follows();
  }
  if (!client.tuning().allotment().keeps_widths()) {
    std::optional<EarlierCurve> curve = programs_.find_curve(client.conditions(), who.uid);
    if (curve) leases_->update(id, {.earlier = std::move(*curve)});
  }
  const milliseconds now = since_start(clocks_);
  // The first lease is cut from what others leave, where that was foreseen.
  if (!leases_->budget().knows_load()) leases_->set_budget(budget_, now, expected_.someone(now));
  leases_->on_reattach(now);
  for (const uint64_t other : commands_.enforce_parts(*leases_, clients_)) {
    log_.note(other, sched::client_name(other) +
                         " is no longer pinned or paused: its user would hold more than his part");
  }
  const auto refused =
      commands_.reapply(one, [this](const LeaseCommand& command) { return carry_out(command); });
  for (const std::string& line : refused) log_.note(id, line);
  sharing_.ask_for_look();
  decide_soon();
}

// Pools that are wider than their mask hinder themselves where they spin: such a program has no
// lease. It did not hear of its mask in time, or there are too many for what it was given.
void LeaseManager::free_squeezed() {
  for (auto& [id, one] : clients_) {
    if (one.sized_for == 0 || !one.lease || !one.has_lease()) continue;
    const std::optional<ClientHeader> header = one.client->reader().header();
    const int sized = header ? header->sized_units : 0;
    const bool fits = one.lease->whole() && one.lease->cores >= one.sized_for &&
                      sized <= static_cast<int>(one.lease->units.size());
    if (fits) continue;
    leases_->leave(id, "its pools are wider than its part");
    leases_->confine_again(id, one.client->attach_request().pid);
    one.lease.reset();
    one.now = budget_now(machine_, dependencies_, one);
    log_.note(id, sched::client_name(id) + " has no lease: its pools are wider than its part");
  }
}

void LeaseManager::refresh_budgets() {
  auto next = clients_.upper_bound(budget_read_);
  if (budget_read_ == 0) budget_ = dependencies_.read_budget(0);
  for (std::size_t i = 0; i < kBudgetsATurn && next != clients_.end(); ++i, ++next) {
    auto& [id, one] = *next;
    budget_read_ = id;
    const int pid = one.client->attach_request().pid;
    one.client->set_process_stopped(dependencies_.is_stopped && dependencies_.is_stopped(pid));
    perfmodel::Budget now = budget_now(machine_, dependencies_, one);
    if (now != one.now) {
      if (dependencies_.note_cpuset && now.cpuset != one.now.cpuset) {
        dependencies_.note_cpuset(id, now.cpuset);
      }
      one.now = std::move(now);
      // Its cpuset became smaller or grew back: leases are cut from what is left.
      const auto bound_to = bound_cores(machine_, budget_, one.now);
      if (leases_ && bound_to) leases_->update(id, {.bound_to = *bound_to});
      set_configurations(machine_, one);
    }
    if (leases_ && (one.has_lease() || one.detached)) leases_->confine_again(id, pid);
  }
  if (next != clients_.end()) return;
  budget_read_ = 0;
  const milliseconds now = since_start(clocks_);
  observe_co_runners(co_runner_load_, clients_, budget_.units, now);
  if (!leases_) return;
  // What part of ours somebody is bound to is another part once ours has changed.
  if (std::exchange(bound_within_, budget_.units) != budget_.units) {
    for (const auto& [id, one] : clients_) {
      const auto bound_to = bound_cores(machine_, budget_, one.now);
      if (bound_to) leases_->update(id, {.bound_to = *bound_to});
    }
  }
  leases_->set_budget(budget_, now, expected_.someone(now));
  for (const auto& [id, one] : clients_) report_co_runners(*leases_, one);
  for (auto& [id, one] : clients_) {
    if (one.has_lease()) report_demand(*leases_, one, now);
  }
  share_by_time();  // of who is alone too: its pace is what a lease is judged by
  free_squeezed();
  decide();
  LeaseCommands::retry(clients_,
                       [this](const LeaseCommand& command) { return carry_out(command); });
}

void LeaseManager::decide_soon() {
  if (!dependencies_.later) {
    decide();
    return;
  }
  if (std::exchange(will_decide_, true)) return;
  dependencies_.later([this] {
    will_decide_ = false;
    decide();
  });
}

void LeaseManager::decide() {
  if (!leases_) return;
  share_by_time();
  do {
    for (GrantedLease& granted : leases_->decide(since_start(clocks_))) {
      const auto found = clients_.find(granted.client);
      if (found == clients_.end()) continue;
      ManagedClient& one = found->second;
      complete_own_units(one.lease, granted);
      const bool loan = is_loan(one.lease, granted);
      if (!granted.reason.empty()) log_.note_move(granted.client, granted.reason, loan);
      // Its session hears nothing of a loan.
      const bool silent = loan && (granted.lent != 0 || one.lease->lent != 0);
      if (silent) {
        one.lease->lent = granted.lent;
      } else if (granted.last) {
        one.detached = true;
        one.lease.reset();
        one.now = budget_now(machine_, dependencies_, one);
      } else {
        one.lease = std::move(granted);
      }
      if (!silent) set_configurations(machine_, one);
      report_co_runners(*leases_, one);
    }
  } while (end_lonely_wait(*leases_, clients_, since_start(clocks_)));
}

std::optional<milliseconds> LeaseManager::next_look() const {
  if (!leases_ || !dependencies_.busy_time) return std::nullopt;
  if (leases_->table().client_count() < 2) {
    // Who shares the cores by time may have a lease again.
    if (dependencies_.processor_demand && clients_.size() > 1) return TimeSharing::kEvery;
    return std::nullopt;
  }
  const bool waited_for = std::any_of(clients_.begin(), clients_.end(),
                                      [](const auto& one) { return one.second.waiting.waiting(); });
  return waited_for ? IdleDetector::kEveryWaiting : IdleDetector::kEvery;
}

void LeaseManager::detect_idle() {
  if (!leases_ || !dependencies_.busy_time) return;
  share_by_time();
  LendingTrials& lending = leases_->lending();
  bool changed = false;
  for (auto& [id, one] : clients_) {
    if (!one.has_lease()) continue;
    const int pid = one.client->attach_request().pid;
    const milliseconds now = since_start(clocks_);
    const bool news = one.waiting.look(now, one.client->reader().progress(),
                                       [this, pid] { return dependencies_.busy_time(pid); });
    const bool waits = one.waiting.waiting();
    std::vector<LendingTrials::Verdict> known;
    if (news && waits) {
      if (!lending.begin(id, now, lending_workers(clients_))) continue;
      leases_->set_activity(id, sched::Activity::kWaits);
    } else if (news) {
      known = lending.end(id, now, lending_workers(clients_));
      leases_->set_activity(id, sched::Activity::kWorks);
    } else if (lending.holds_back(id) &&
               lending.held_long_enough(id, now, lending_workers(clients_))) {
      known = lending.release(id, now, lending_workers(clients_));
      leases_->set_activity(id, sched::Activity::kWaits);
    } else if (!waits || one.waiting.quiet(now) < IdleDetector::kLongWait ||
               !leases_->set_activity(id, sched::Activity::kAway)) {
      continue;
    }
    record_lending(known, clients_, programs_, log_);
    changed = true;
  }
  if (changed) decide();
  // Who settles during a long wait borrows from then on.
  for (const auto& [id, one] : clients_) {
    if (one.lease && (changed || one.lease->lent > 0)) report_co_runners(*leases_, one);
  }
  if (report_newcomers(*leases_, clients_)) decide();
}

// Where somebody comes the next look is at once: what a lease would cost is to be known before it.
void LeaseManager::share_by_time() {
  if (!leases_ || !dependencies_.processor_demand) return;
  const milliseconds now = since_start(clocks_);
  if (!sharing_.is_due(now, clients_.size())) return;
  std::vector<TimeSharing::Party> parties;
  for (const auto& [id, one] : clients_) {
    if ((!one.has_lease() && !one.shared_time) || one.sized_for > 0) continue;
    parties.push_back(sharing_party(*leases_, one));
    parties.back().runnable = dependencies_.processor_demand(
        one.client->attach_request().pid, one.client->reader().issuing_threads(kMostThreads));
  }
  const std::vector<TimeSharing::Change> changes =
      sharing_.look(now, std::max(1, leases_->budget().as_granted().cores), parties);
  for (const auto& [id, reason, text] : changes) {
    ManagedClient& one = clients_.at(id);
    if (reason) {
      begin_time_sharing(one, text, reason == TimeSharing::Reason::kSlowOnLease);
      continue;
    }
    const auto before = std::exchange(one.shared_time, std::nullopt);
    if (!before) continue;
    log_.note(id, sched::client_name(id) + " may have a lease again: no longer, " + before->why);
    give_lease(one);
    if (before->curve) leases_->update(id, {.earlier = *before->curve});
  }
  if (!changes.empty()) decide();
}

void LeaseManager::begin_time_sharing(ManagedClient& one, const std::string& why, bool slow) {
  if (one.shared_time) {
    one.shared_time->why = why;
    return;
  }
  const uint64_t id = one.client->id();
  const int64_t unix_now = clocks_.unix_seconds();
  one.shared_time = {why, unix_now, one.state->curve.learned(unix_now)};
  leases_->leave(id, "shares the cores by time");
  leases_->confine_again(id, one.client->attach_request().pid);
  one.waiting = {};
  one.pace = {};
  one.lease.reset();
  one.now = budget_now(machine_, dependencies_, one);
  set_configurations(machine_, one);
  report_co_runners(*leases_, one);
  if (slow) one.client->slow_leases().add(why + ", since " + time_of_day(unix_now));
  log_.note(id, sched::client_name(id) + " has no lease and shares the cores by time: " + why);
}

base::Status LeaseManager::apply(const LeaseCommand& command) {
  base::Status done = carry_out(command);
  if (!done.ok()) return done;
  commands_.keep(leases(), clients_.at(command.client), command);
  LeaseCommands::retry(clients_,
                       [this](const LeaseCommand& pending) { return carry_out(pending); });
  return done;
}

base::Status LeaseManager::carry_out(const LeaseCommand& command) {
  const std::string who = sched::client_name(command.client);
  const auto found = clients_.find(command.client);
  if (found == clients_.end()) {
    return base::Error{base::ErrorKind::kNotFound,
                       "no attached client has that number; see optile leases"};
  }
  if (command.kind == LeaseCommand::Kind::kAttach) return attach_again(found->second, command);
  if (!found->second.has_lease()) {
    return base::Error{base::ErrorKind::kUnavailable,
                       who + (found->second.detached
                                  ? " has no lease: it was detached; see optile attach"
                                  : " has no lease: it was started in a mode that only watches, "
                                    "or on other cores; see optile leases")};
  }
  base::Status done = commands_.give(*leases_, command);
  if (!done.ok()) return done;
  log_.note(command.client, who + ", by hand: " + text_of(command));
  decide();
  return {};
}

// A lease as when it came, with the commands about it besides. It may have waited meanwhile,
// unseen.
base::Status LeaseManager::attach_again(ManagedClient& one, const LeaseCommand& command) {
  const std::string who = sched::client_name(command.client);
  if (!one.detached) {
    return base::Error{base::ErrorKind::kUnavailable, who + " has not been detached"};
  }
  one.detached = false;
  one.waiting = {};
  one.pace = {};
  commands_.keep(leases(), one, command);  // or it would be detached again at once
  log_.note(command.client, who + ", by hand: " + text_of(command));
  give_lease(one);
  decide();
  if (one.has_lease()) return {};
  return base::Error{base::ErrorKind::kUnavailable,
                     who + " gets no lease: it is bound to other cores than the daemon has"};
}

LaunchBeside LeaseManager::launch_beside(const perfmodel::LaunchFacts& facts,
                                         const Newcomer& newcomer) {
  if (!leases_) return {};
  const auto& [arrival, share, batch, starts, announced] = newcomer;
  const milliseconds now = since_start(clocks_);
  const bool any_lease = leases_->table().client_count() > 0;
  if (starts && !any_lease) leases_->budget().expect_launch(now, arrival.pid);
  const bool may_be_expected = announced || arrival.pid > 0;
  const double expected =
      may_be_expected ? expected_.share_beside(arrival, now) : expected_.share(arrival.user, now);
  if (starts && !announced) expected_.expect(arrival, share, now);
  const bool someone_works =
      any_lease || std::any_of(clients_.begin(), clients_.end(), [this](const auto& one) {
        return one.second.shared_time && sharing_.has_demand(one.first);
      });
  LaunchBeside beside{someone_works || expected > 0, 0};
  // What follows its lease later would not become wider than it started.
  const bool follows = facts.resizes_teams || facts.marks_ops;
  if (!beside.others || follows || !facts.uses_openmp) return beside;
  const int cores = std::max(1, leases_->table().resources().budget.cores);
  const auto priority = batch ? sched::Priority::kBatch : sched::Priority::kNormal;
  const double part = part_beside(clients_, {0, arrival.user, "", share, priority}, expected,
                                  programs_.has_users());
  beside.width = std::clamp(static_cast<int>(cores * part + 1e-9), 1, cores);
  return beside;
}

LeaseStatus LeaseManager::status(uint64_t id) const {
  LeaseStatus status;
  const auto found = clients_.find(id);
  if (found == clients_.end()) return status;
  const ManagedClient& one = found->second;
  status.detached = one.detached;
  if (one.shared_time) {
    status.shares_time = one.shared_time->why + ", since " + time_of_day(one.shared_time->since);
  }
  for (const PendingCommand& pending : one.pending) {
    status.pending.push_back(text_of(pending.command) + ": " + pending.why);
  }
  return status;
}

}  // namespace optile::daemon
