#include "daemon/leases/time_sharing.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdio>

namespace optile::daemon {
namespace {

using Time = TimeSharing::Time;

constexpr std::size_t kFewClients = 16;
constexpr double kLittle = 0.2;  // demand of kLittleDemand, and at its end
constexpr double kNotLittle = 0.4;
constexpr double kBusy = 0.8;  // demand of one that leaves nothing free, and at its end
constexpr double kNotBusy = 0.6;
constexpr double kSlow = 0.5;       // of the predicted pace
constexpr double kWorse = 1.1;      // times its pace on the lease, that sharing has to give
constexpr Time kLeastOnLease{750};  // before its pace there says anything
constexpr Time kLeastAlone{1000};
constexpr double kFewestUnits = 8;  // of work that a verdict is about
constexpr Time kLongestRetry{3600000};

std::string percent(double share) {
  char text[32];
  std::snprintf(text, sizeof text, share < 0.1 ? "%.1f %%" : "%.0f %%", 100 * share);
  return text;
}

}  // namespace

void TimeSharing::watch(Time now, const Party& party, Client& client) {
  if (!party.runnable) return;
  client.work.add({now, *party.runnable, party.work, party.sampling_paused});
  const std::optional<double> latest = client.work.demand_over(kShortWindow);
  if (latest && *latest >= kBusy) client.busy = true;
  if (latest && *latest < kNotBusy) client.busy = false;
  if (latest && party.leased == 0 && *latest > kNotLittle) client.little = false;
  // One that pauses for longer waits: that lends its cores, and gives them back at once.
  const std::optional<double> lately = client.work.demand_over(kLongWindow);
  // With few cores it wants them for longer.
  const double speed = party.leased > 0 && party.predicted > 0 ? party.predicted : 1;
  const bool little = lately && *latest * speed < kNotLittle && *lately * speed < kLittle;
  if (little && client.work.has_worked_lately().value_or(false)) client.little = true;
}

bool TimeSharing::waits(const Client& client) {
  const std::optional<bool> works = client.work.has_worked_lately();
  return !works || (!client.busy && !*works);
}

bool TimeSharing::has_demand(uint64_t client) const {
  const auto found = clients_.find(client);
  return found == clients_.end() || !found->second.little;
}

std::optional<TimeSharing::Reason> TimeSharing::reason(uint64_t client) const {
  const auto found = clients_.find(client);
  return found == clients_.end() ? std::nullopt : found->second.reason;
}

// Once for all clients: a set for each of a thousand would cost a million places.
void TimeSharing::count_demand() {
  with_demand_.clear();
  busy_ = 0;
  for (const auto& [id, client] : clients_) {
    if (client.little) continue;
    with_demand_.insert(with_demand_.end(), id);
    if (client.busy) ++busy_;
  }
}

bool TimeSharing::others_have_demand(uint64_t client) const {
  return with_demand_.size() > (with_demand_.contains(client) ? 1 : 0);
}

bool TimeSharing::are_others_with_demand(uint64_t client, const std::set<uint64_t>& those) const {
  const std::size_t others = with_demand_.size() - (with_demand_.contains(client) ? 1 : 0);
  return those.size() == others && !those.contains(client) &&
         std::includes(with_demand_.begin(), with_demand_.end(), those.begin(), those.end());
}

std::set<uint64_t> TimeSharing::others_with_demand(uint64_t client) const {
  std::set<uint64_t> others = with_demand_;
  others.erase(client);
  return others;
}

bool TimeSharing::other_is_busy(const Client& client) const {
  return busy_ > (client.busy && !client.little ? 1 : 0);
}

void TimeSharing::measure_alone(Time now, const Party& party, Client& client) {
  if (others_have_demand(party.client)) {
    client.alone_since.reset();
    return;
  }
  if (!client.alone_since) client.alone_since = now;
  if (now - *client.alone_since < kLeastAlone) return;
  const Pace pace = client.work.pace_over(kLeastAlone);
  for (std::size_t i = 0; pace && i < pace->size(); ++i) {
    if ((*pace)[i] > 0) client.alone_pace[i] = (*pace)[i];
  }
}

// Its pace over the predicted one, since it has had the cores that it has; 1 where that cannot be
// told.
double TimeSharing::behind(const Party& party, const Client& client, Time since_change) {
  if (party.leased == 0 || party.predicted <= 0 || since_change < kLeastOnLease) return 1;
  double best = 0;
  for (std::size_t i = 0; i < client.alone_pace.size(); ++i) {
    const double expected = client.alone_pace[i] * party.predicted;
    if (expected <= 0) continue;
    const Time window(std::max<int64_t>(kLeastOnLease.count(),
                                        static_cast<int64_t>(1000 * kFewestUnits / expected)));
    if (window > since_change) continue;
    const Pace pace = client.work.pace_over(window);
    if (!pace || (i > 0 && client.work.is_sampling_paused())) continue;
    best = std::max(best, (*pace)[i] / expected);
    if ((*pace)[i] > 0 || window >= kLeastOnLease) return best;
  }
  return 1;
}

// Than it was just before, when it shared time with the same programs.
bool TimeSharing::is_slower_than_shared(const Client& client, Time on_lease) const {
  if (on_lease < kLeastOnLease || on_lease >= 2 * kLeastOnLease) return false;
  const Pace pace = client.work.pace_over(kLeastOnLease);
  for (std::size_t i = 0; pace && i < pace->size(); ++i) {
    if (client.shared_pace[i] <= 0 || (i > 0 && client.work.is_sampling_paused())) continue;
    return kWorse * (*pace)[i] < client.shared_pace[i];
  }
  return false;
}

// Whether what was measured speaks against its lease, or for it.
std::optional<TimeSharing::Reason> TimeSharing::by_pace(Time now, const Party& party,
                                                        Client& client) {
  if (!are_others_with_demand(party.client, client.beside)) {
    client.keeps_lease = false;
    client.shared_pace = {};
    if (client.reason == Reason::kSlowOnLease) return std::nullopt;
  }
  const Time passed = now - client.since;
  if (client.reason == Reason::kSlowOnLease) {
    if (passed >= client.retry) {
      client.retry = std::min(2 * client.retry, kLongestRetry);
      return std::nullopt;
    }
    if (passed < kLeastOnLease || passed >= 2 * kLeastOnLease) return client.reason;
    const Pace pace = client.work.pace_over(kLeastOnLease);
    for (std::size_t i = 0; pace && i < pace->size(); ++i) {
      if (client.lease_pace[i] <= 0 || (*pace)[i] <= 0) continue;
      client.keeps_lease = (*pace)[i] < kWorse * client.lease_pace[i];
      break;
    }
    return client.keeps_lease ? std::nullopt : client.reason;
  }
  const bool slow = is_slower_than_shared(client, passed) || behind(party, client, passed) < kSlow;
  if (client.reason || client.keeps_lease || !slow) return std::nullopt;
  client.lease_pace = client.work.pace_over(kLeastOnLease).value_or(WorkHistory::Pace{});
  client.beside = others_with_demand(party.client);
  return Reason::kSlowOnLease;
}

std::optional<TimeSharing::Reason> TimeSharing::wanted(Time now, const Party& party, Client& client,
                                                       double part) {
  if (party.held || clients_.size() < 2) return std::nullopt;
  if (client.little) return Reason::kLittleDemand;
  if (!others_have_demand(party.client)) return std::nullopt;
  if (waits(client)) return std::nullopt;
  const bool wide = party.team > static_cast<int>(part + 1e-9);
  // What is not known yet of a newcomer's demand changes nothing for it.
  const bool idles = !client.busy && client.work.demand_over(kShortWindow);
  const bool alone_busy = wide && !(client.busy && other_is_busy(client));
  if (party.team > 0 && (alone_busy || idles)) return Reason::kFixedTeam;
  return by_pace(now, party, client);
}

std::string TimeSharing::text_of(const Party& party, const Client& client, double part) const {
  char text[160];
  switch (*client.reason) {
    case Reason::kLittleDemand:
      return "it wants a processor for " +
             percent(client.work.demand_over(kLongWindow).value_or(0)) + " of the time";
    case Reason::kFixedTeam:
      std::snprintf(
          text, sizeof text,
          "nothing narrows its team of %d, its part is %.2g %s, and not all here are busy "
          "all the time",
          party.team, part, part == 1 ? "core" : "cores");
      return text;
    case Reason::kSlowOnLease:
      for (std::size_t i = 0; i < client.alone_pace.size(); ++i) {
        if (client.alone_pace[i] <= 0) continue;
        return "lease taken back: it had " + percent(client.lease_pace[i] / client.alone_pace[i]) +
               " of its speed alone, where " + percent(party.predicted) + " was predicted";
      }
      return "lease taken back: it was slower than just before, when it shared them";
  }
  return "";
}

bool TimeSharing::is_due(Time now, std::size_t clients) const {
  if (!looked_) return true;
  const auto times = static_cast<int64_t>((clients + kFewClients - 1) / kFewClients);
  const Time every = std::clamp(kEvery * times, kEvery, kRarely);
  return now - *looked_ >= (asked_ ? every - kEvery : every);
}

std::vector<TimeSharing::Change> TimeSharing::look(Time now, int cores,
                                                   const std::vector<Party>& parties) {
  looked_ = now;
  asked_ = false;
  std::set<uint64_t> here;
  for (const Party& party : parties) here.insert(party.client);
  std::erase_if(clients_, [&](const auto& one) { return !here.contains(one.first); });
  double weights = 0;
  for (const Party& party : parties) watch(now, party, clients_[party.client]);
  count_demand();
  for (const Party& party : parties) {
    if (!clients_.at(party.client).little) weights += party.weight;
  }
  std::vector<Change> changes;
  for (const Party& party : parties) {
    Client& client = clients_.at(party.client);
    measure_alone(now, party, client);
    const double part = weights > 0 ? cores * party.weight / weights : cores;
    const std::optional<Reason> reason = wanted(now, party, client, part);
    if (reason == client.reason) continue;
    if (client.reason && *client.reason != Reason::kLittleDemand && !reason) {
      client.shared_pace = client.work.pace_over(kShortWindow).value_or(WorkHistory::Pace{});
      client.beside = others_with_demand(party.client);
    }
    client.reason = reason;
    client.since = now;
    changes.push_back({party.client, reason, reason ? text_of(party, client, part) : ""});
  }
  return changes;
}

}  // namespace optile::daemon
