#include "daemon/divisions.h"

#include <algorithm>
#include <utility>

namespace optile::daemon {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kEveryIdle{500};  // while nothing is tried

bool has_its_own(const sched::LeaseView& lease) {
  return !lease.idle && !lease.paused && !lease.pinned && !lease.bound && !lease.late &&
         !lease.revoked && lease.borrowed == 0 && lease.granted.shared.empty() &&
         lease.granted.fraction >= 1.0 && lease.granted.cores == lease.target.cores &&
         static_cast<int>(lease.granted.cores.size()) == lease.claim;
}

}  // namespace

bool Divisions::due(milliseconds now) const {
  return enabled_ && (now >= next_look_ || trials_.tries());
}

const std::optional<sched::CoreCounts>& Divisions::look(milliseconds now,
                                                        const std::vector<CompanyMember>& members,
                                                        const Leases& leases, bool shared) {
  const auto tick = static_cast<uint64_t>(std::max<int64_t>(0, now.count()));
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
    const bool may = !shared && has_its_own(*lease) && !leases.is_rank(one.client) &&
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
  trials_.end(static_cast<uint64_t>(std::max<int64_t>(0, now.count())),
              "client " + std::to_string(client) + " has gone");
}

}  // namespace optile::daemon
