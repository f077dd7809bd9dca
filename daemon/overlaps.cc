#include "daemon/overlaps.h"

#include <algorithm>
#include <utility>

#include "sched/overlap_text.h"

namespace optile::daemon {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kEveryIdle{500};  // while nothing is tried or kept

uint64_t tick(milliseconds now) {
  return static_cast<uint64_t>(std::max<int64_t>(0, now.count()));
}

bool free_to_share(const sched::LeaseView& lease) {
  return !lease.idle && !lease.paused && !lease.pinned && !lease.bound && !lease.late &&
         !lease.revoked && lease.borrowed == 0 && !lease.granted.empty() &&
         lease.granted.fraction >= 1.0;
}

}  // namespace

std::string overlap_program(const Hello& hello) {
  return hello.executable + "\n" + hello.program + "\n" + hello.arguments;
}

std::optional<sched::Overlap> Overlaps::look(milliseconds now,
                                             const std::vector<CompanyMember>& members,
                                             const Leases& leases) {
  const bool calm = leases.calm();
  std::vector<sched::OverlapClient> clients;
  clients.reserve(members.size());
  for (const CompanyMember& one : members) {
    const std::optional<sched::LeaseView> lease = leases.table().view(one.client);
    if (!lease) continue;
    Counted& counted = counted_[one.client];
    counted.steps += static_cast<uint32_t>(one.steps - counted.last);
    counted.last = one.steps;
    sched::OverlapClient client;
    client.id = one.client;
    client.program = one.program;
    client.owner = std::to_string(one.uid);
    client.fit = calm && one.settled && free_to_share(*lease) && !leases.is_rank(one.client);
    client.widens = one.widens;
    client.cores = lease->target.cores;
    client.weight = lease->weight;
    client.progress = leases.curve(one.client);
    client.steps = counted.steps;
    clients.push_back(std::move(client));
  }
  next_look_ = now + kEveryIdle;
  std::optional<sched::Overlap> wanted = trials_.look(tick(now), clients, leases.table().overlap());
  if (const std::optional<sched::OverlapView> pair = trials_.view()) {
    for (const CompanyMember& one : members)
      uid_ = one.client == pair->overlap.first ? one.uid : uid_;
  }
  return wanted;
}

void Overlaps::forget(uint64_t client, milliseconds now) {
  counted_.erase(client);
  trials_.forget(client, tick(now));
}

void Overlaps::remember(const std::vector<OverlapRecord>& records, milliseconds now,
                        int64_t unix_seconds) {
  // No verdict is believed for longer than one of today; a file may hold any number.
  const auto longest = static_cast<int64_t>(sched::OverlapPolicy().believed / 1000);
  for (const OverlapRecord& record : records) {
    const int64_t left = std::clamp<int64_t>(record.believed_until - unix_seconds, 0, longest);
    trials_.remember(record.verdict, tick(now), static_cast<uint64_t>(left) * 1000);
  }
}

std::vector<OverlapRecord> Overlaps::take_records(const std::string& machine,
                                                  int64_t unix_seconds) {
  std::vector<OverlapRecord> records;
  for (sched::OverlapVerdict& verdict : trials_.take_verdicts()) {
    OverlapRecord record;
    record.machine = machine;
    record.when = unix_seconds;
    record.believed_until =
        unix_seconds + static_cast<int64_t>(trials_.believed_for(verdict) / 1000);
    record.verdict = std::move(verdict);
    records.push_back(std::move(record));
  }
  return records;
}

bool Overlaps::due(milliseconds now) const {
  return enabled_ && (now >= next_look_ || trials_.view());
}

bool Overlaps::tries() const {
  const std::optional<sched::OverlapView> seen = trials_.view();
  return seen && !seen->kept;
}

std::string Overlaps::text(uint64_t client) const {
  const std::optional<sched::OverlapView> seen = trials_.view();
  if (!seen || !seen->overlap.has(client)) return "";
  const std::string what = sched::cores_text(seen->overlap.cores) + " with client " +
                           std::to_string(seen->overlap.other(client));
  return (seen->kept ? "shares " + what + ", which pays: " : "is tried on sharing " + what + ": ") +
         sched::gain_text(seen->estimate);
}

}  // namespace optile::daemon
