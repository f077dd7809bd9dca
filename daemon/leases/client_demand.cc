#include "daemon/leases/client_demand.h"

#include <cstddef>
#include <optional>
#include <utility>

#include "perfmodel/synthetic/fixed_team.h"

namespace optile::daemon {
namespace {

using std::chrono::milliseconds;

constexpr std::size_t kFewestLeasedSteps = 5;  // before they say what a lease is worth

// A program whose teams nothing resizes has no curve of its own making, and searches nothing. What
// it does while sampling is paused is not counted.
void report_demand_of_team(Leases& leases, ManagedClient& one, milliseconds now) {
  const Client& client = *one.client;
  const bool works = one.lease && one.lease->whole() && !one.waiting.waiting();
  const int cores = works ? one.lease->cores + one.lease->lent : 0;
  one.pace.look(now, client.reader().progress(), client.plan().may_pause_sampling ? 0 : cores);
  const bool own = works && one.lease->lent == 0;
  ClientFacts facts;
  facts.step = {one.pace.turns()};
  facts.demand = {one.pace.predicted(client.tuning().fixed_team(), one.at_attach.cores),
                  own ? one.pace.measured(cores).value_or(0) : 0, true};
  leases.update(client.id(), std::move(facts));
}

void report_demand_of_session(Leases& leases, const ManagedClient& one) {
  const Client& client = *one.client;
  const tuner::SessionSummary seen = client.session_summary();
  const bool settled = seen.phase == tuner::Phase::kTuned;
  // A program's first steps are slow for other reasons than its cores.
  const bool known = !settled || seen.tuned_steps >= kFewestLeasedSteps;
  const double measured =
      settled && known ? std::chrono::duration<double>(seen.tuned_step).count() : 0;
  ClientFacts facts;
  facts.step = {seen.step_number,
                {seen.step_fingerprint, client.tuning().allotment().default_width()}};
  facts.demand = {
      known ? client.tuning().step_seconds_by_cores(one.at_attach.cores) : std::vector<double>{},
      measured, settled};
  facts.wants_more = seen.has_use_for_more;
  facts.steps_here = seen.steps_here;
  leases.update(client.id(), std::move(facts));
}

// Where cores are not the program's own, nobody may spin on them for long; a team that is wider
// than its cores keeps itself from work by spinning.
std::optional<uint32_t> wait_cap(const Leases& leases, const ManagedClient& one) {
  if (!one.lease) return std::nullopt;
  const bool in_turns = one.lease->in_turns || one.lease->units.empty();
  const int cores = in_turns ? 1 : one.lease->cores + one.lease->lent;
  if (one.client->tuning().fixed_team() > cores) return 0;
  if (in_turns || leases.budget().left_to_others() > 0) return 1;
  return std::nullopt;
}

// What its lease is said to be worth: its pace over that with all that it could use.
double predicted_pace(const ManagedClient& one, int cores, int most) {
  if (const int team = one.client->tuning().fixed_team(); team > 0) {
    const std::vector<double> times = perfmodel::fixed_team_times(team, most);
    const auto place = static_cast<std::size_t>(cores);
    return cores < 1 || place > times.size() ? 0 : times.back() / times[place - 1];
  }
  const std::vector<double> curve = one.state->curve.progress();
  const auto place = static_cast<std::size_t>(cores);
  return cores < 1 || place > curve.size() ? 0 : curve[place - 1];
}

}  // namespace

void report_demand(Leases& leases, ManagedClient& one, milliseconds now) {
  if (one.client->tuning().fixed_team() > 0) {
    report_demand_of_team(leases, one, now);
  } else if (one.sized_for > 0 || one.client->tuning().allotment().keeps_widths()) {
    // Nothing is searched; how many threads it has is not known yet, or does not change.
    leases.update(one.client->id(), {.demand = ClientFacts::Demand{{}, 0, true}});
  } else {
    report_demand_of_session(leases, one);
  }
}

bool report_newcomers(Leases& leases, ManagedClients& clients) {
  bool told = false;
  for (auto& [id, one] : clients) {
    if (!one.has_lease() || !is_being_placed(*one.state, leases.table().client_count()) ||
        one.client->tuning().fixed_team() > 0 || one.client->tuning().allotment().keeps_widths()) {
      continue;
    }
    const std::size_t steps = one.client->session_summary().steps_here;
    if (std::exchange(one.seen_steps, steps) == steps) continue;
    report_demand_of_session(leases, one);
    told = true;
  }
  return told;
}

void report_co_runners(const Leases& leases, const ManagedClient& one) {
  Client& client = *one.client;
  client.tuning().page().set_wait_cap(wait_cap(leases, one));
  const int lent = one.lease ? one.lease->lent : 0;
  client.tuning().set_lent(lent > 0 && client.session_summary().has_use_for_more ? lent : 0);
  client.tuning().set_observed(one.lease && leases.table().client_count() > 1 &&
                               leases.lending().measures(client.id(), one.lease->cores));
}

std::vector<LendingTrials::Worker> lending_workers(const ManagedClients& clients) {
  std::vector<LendingTrials::Worker> found;
  for (const auto& [id, one] : clients) {
    if (!one.lease || !one.lease->whole() || one.waiting.waiting()) continue;
    const Client& client = *one.client;
    const bool team = client.tuning().fixed_team() > 0;
    if (!team && !client.session_summary().has_use_for_more) continue;
    found.push_back({id, client.reader().progress(), one.lease->cores,
                     team ? one.lease->lent : client.tuning().allotment().lent(),
                     !client.plan().may_pause_sampling});
  }
  return found;
}

TimeSharing::Party sharing_party(const Leases& leases, const ManagedClient& one) {
  const Client& client = *one.client;
  const uint64_t id = client.id();
  TimeSharing::Party party;
  party.client = id;
  party.work = {client.reader().steps(), client.reader().progress()};
  party.sampling_paused = client.plan().may_pause_sampling;
  party.team = client.widest_team();
  party.weight = one.has_lease() ? one.state->party.share : client.attach_request().share;
  if (one.lease && one.lease->whole() && one.lease->cores < one.at_attach.cores) {
    party.leased = one.lease->cores;
    party.predicted = predicted_pace(one, party.leased, one.at_attach.cores);
  }
  const std::optional<sched::LeaseView> view = leases.table().view(id);
  party.held = view && (view->pinned || view->paused);
  return party;
}

}  // namespace optile::daemon
