// The controller's part in time sharing: who is looked at, and what follows for its lease.
#include <algorithm>
#include <ctime>
#include <utility>

#include "daemon/controller/controller.h"
#include "perfmodel/synthetic/fixed_team.h"

namespace optile::daemon {
namespace {

using std::chrono::milliseconds;

constexpr std::size_t kMostThreads = 16;  // whose demand is read, of each client

std::string time_of_day(int64_t unix_seconds) {
  const auto then = static_cast<time_t>(unix_seconds);
  tm parts{};
  gmtime_r(&then, &parts);
  char text[16];
  std::strftime(text, sizeof text, "%H:%M:%S", &parts);
  return text;
}

// What its lease is said to be worth: its pace over that with all that it could use.
double predicted_pace(const Leases& leases, uint64_t id, int team, int cores, int most) {
  if (team > 0) {
    const std::vector<double> times = perfmodel::fixed_team_times(team, most);
    const auto place = static_cast<std::size_t>(cores);
    return cores < 1 || place > times.size() ? 0 : times.back() / times[place - 1];
  }
  const std::vector<double> curve = leases.curve(id);
  const auto place = static_cast<std::size_t>(cores);
  return cores < 1 || place > curve.size() ? 0 : curve[place - 1];
}

}  // namespace

std::vector<TimeSharing::Party> Controller::sharing_parties() const {
  std::vector<TimeSharing::Party> parties;
  for (const auto& [id, place] : clients_) {
    if (!leases_->has(id) && !place.shared_time) continue;
    const Client& client = *place.client;
    TimeSharing::Party party;
    party.client = id;
    party.runnable =
        demand_(client.attach_request().pid, client.reader().issuing_threads(kMostThreads));
    party.work = {client.reader().steps(), client.reader().progress()};
    party.rests = client.plan().may_rest;
    party.team = client.widest_team();
    party.weight = leases_->has(id) ? leases_->party(id).share : client.attach_request().share;
    if (place.lease && place.lease->whole() && place.lease->cores < place.at_attach.cores) {
      party.leased = place.lease->cores;
      party.predicted = predicted_pace(*leases_, id, client.tuning().fixed_team(), party.leased,
                                       place.at_attach.cores);
    }
    const std::optional<sched::LeaseView> view = leases_->table().view(id);
    party.held = view && (view->pinned || view->paused);
    parties.push_back(party);
  }
  return parties;
}

// Where somebody comes the next look is at once: what a lease would cost is to be known before it.
void Controller::look_for_time_sharing() {
  if (!leases_ || !demand_) return;
  const milliseconds now = since_start();
  if (!sharing_.is_due(now, clients_.size())) return;
  const std::vector<TimeSharing::Party> parties = sharing_parties();
  const std::vector<TimeSharing::Change> changes =
      sharing_.look(now, std::max(1, leases_->as_granted().cores), parties);
  for (const TimeSharing::Change& change : changes) share_time(change);
  if (!changes.empty()) decide_leases();
}

void Controller::share_time(const TimeSharing::Change& change) {
  Place& place = clients_.at(change.client);
  const std::string who = "client " + std::to_string(change.client);
  if (!change.reason) {
    const std::optional<ClientPlace::SharedTime> before =
        std::exchange(place.shared_time, std::nullopt);
    if (!before) return;
    log_lease(change.client, who + " may have a lease again: no longer, " + before->why);
    lease_to(change.client);
    if (before->curve && leases_->has(change.client)) {
      leases_->recall(change.client, *before->curve);
    }
    return;
  }
  const int64_t unix_now = clocks_.unix_seconds();
  if (place.shared_time) {
    place.shared_time->why = change.text;
    return;
  }
  place.shared_time = {change.text, unix_now, leases_->learned(change.client, unix_now)};
  leases_->leave(change.client, "shares the cores by time");
  leases_->confine_again(change.client, place.client->attach_request().pid);
  place.waiting = {};
  place.pace = {};
  place.lease.reset();
  place.now = budget_now(place);
  place.client->tuning().set_space(make_configuration_space(machine_, leased(place)));
  publish_co_runners(place);
  if (change.reason == TimeSharing::Reason::kSlowOnLease) {
    place.client->slow_leases().add(change.text + ", since " + time_of_day(unix_now));
  }
  log_lease(change.client, who + " has no lease and shares the cores by time: " + change.text);
}

bool Controller::someone_works() const {
  return !leases_->empty() ||
         std::any_of(clients_.begin(), clients_.end(), [this](const auto& one) {
           return one.second.shared_time && sharing_.has_demand(one.first);
         });
}

std::string Controller::time_sharing_text(uint64_t id) const {
  const auto found = clients_.find(id);
  if (found == clients_.end() || !found->second.shared_time) return "";
  return found->second.shared_time->why + ", since " +
         time_of_day(found->second.shared_time->since);
}

}  // namespace optile::daemon
