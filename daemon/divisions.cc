#include "daemon/divisions.h"

#include <algorithm>
#include <utility>

namespace optile::daemon {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kEveryIdle{500};  // while nothing is tried

bool has_its_own(const sched::LeaseView& lease) {
  return !lease.idle && !lease.paused && !lease.pinned && !lease.bound && !lease.late &&
         !lease.revoked && lease.borrowed == 0 && lease.granted.fraction >= 1.0 &&
         lease.granted.cores == lease.target.cores &&
         static_cast<int>(lease.granted.cores.size()) == lease.claim;
}

uint64_t division_tick(milliseconds now) {
  return static_cast<uint64_t>(std::max<int64_t>(0, now.count()));
}

// No verdict is believed for longer than one of today; a file may hold any number.
constexpr auto kLongestBelieved = static_cast<int64_t>(sched::DivisionPolicy{}.believed / 1000);

}  // namespace

bool Divisions::due(milliseconds now) const {
  return enabled_ && (now >= next_look_ || trials_.tries());
}

const std::optional<sched::CoreCounts>& Divisions::look(milliseconds now,
                                                        const std::vector<CompanyMember>& members,
                                                        const Leases& leases) {
  const uint64_t tick = division_tick(now);
  if (std::exchange(words_, leases.words()) != leases.words()) {
    trials_.end(tick, "somebody came or left, or something was said");
  }
  std::vector<sched::DivisionClient> clients;
  std::map<uint64_t, Counted> counted;
  clients.reserve(members.size());
  for (const CompanyMember& one : members) {
    const std::optional<sched::LeaseView> lease = leases.table().view(one.client);
    if (!lease) continue;
    Counted& count = counted[one.client] = counted_[one.client];
    count.steps += static_cast<uint32_t>(one.steps - count.last);
    count.last = one.steps;
    const bool may = has_its_own(*lease) && !leases.is_rank(one.client) &&
                     lease->priority == sched::Priority::kNormal;
    sched::DivisionClient client;
    client.id = one.client;
    client.program = one.program;
    client.fit = may && one.settled;
    client.searches = may && one.searches;
    client.cores = lease->claim;
    client.weight = lease->weight;
    client.progress = leases.curve(one.client);
    client.steps = count.steps;
    clients.push_back(std::move(client));
  }
  counted_ = std::move(counted);
  next_look_ = now + kEveryIdle;
  return trials_.look(tick, clients);
}

void Divisions::forget(uint64_t client, milliseconds now) {
  counted_.erase(client);
  trials_.end(division_tick(now), "client " + std::to_string(client) + " has gone");
}

void Divisions::remember(const std::vector<DivisionRecord>& records, milliseconds now,
                         int64_t unix_seconds) {
  // The newest comes first, and counts.
  for (auto record = records.rbegin(); record != records.rend(); ++record) {
    const int64_t left =
        std::clamp<int64_t>(record->believed_until - unix_seconds, 0, kLongestBelieved);
    trials_.remember(record->verdict, division_tick(now), static_cast<uint64_t>(left) * 1000);
  }
}

std::vector<std::pair<uint64_t, DivisionRecord>> Divisions::take_records(const std::string& machine,
                                                                         int64_t unix_seconds) {
  std::vector<std::pair<uint64_t, DivisionRecord>> records;
  for (sched::DivisionFinding& one : trials_.take_findings()) {
    const int64_t until = unix_seconds + kLongestBelieved;
    records.push_back({one.taker, {machine, std::move(one.verdict), unix_seconds, until}});
  }
  return records;
}

}  // namespace optile::daemon
