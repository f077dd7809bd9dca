#include "sched/leases/core_handover.h"

#include <algorithm>
#include <cmath>
#include <iomanip>
#include <sstream>
#include <utility>

namespace optile::sched {
namespace {

constexpr double kGainWorthSaying = 0.005;

std::string size_of(const Lease& lease) {
  if (lease.empty()) return "no core";
  if (!lease.is_whole()) {
    std::ostringstream text;
    text << std::fixed << std::setprecision(2) << lease.fraction << " of core "
         << lease.cores.front();
    return text.str();
  }
  return std::to_string(lease.cores.size()) + (lease.cores.size() == 1 ? " core" : " cores");
}

bool has(const Lease& lease, int core) {
  return std::binary_search(lease.cores.begin(), lease.cores.end(), core);
}

// Whether `next` asks for nothing that `before` did not have.
bool only_gives_up(const Lease& before, const Lease& next) {
  return next.empty() || (next.fraction <= before.fraction + kSameFraction &&
                          std::includes(before.cores.begin(), before.cores.end(),
                                        next.cores.begin(), next.cores.end()));
}

std::string cause_for(const LeaseRecord& record, const std::string& cause) {
  if (std::abs(record.gain) < kGainWorthSaying) return cause;
  std::ostringstream gain;
  gain << std::showpos << std::fixed << std::setprecision(2) << record.gain;
  return cause + "; predicted progress " + gain.str();
}

}  // namespace

bool is_same_lease(const Lease& a, const Lease& b) {
  return a.cores == b.cores && (a.empty() || std::abs(a.fraction - b.fraction) <= kSameFraction);
}

std::vector<ClientId> CoreHandover::mark_late(LeaseRecords& records, uint64_t tick) {
  std::vector<ClientId> fresh;
  for (auto& [id, record] : records) {
    const auto since = ownership_.owes_since(id);
    if (!since || record.late || tick - *since <= confirm_ticks_) continue;
    record.late = true;
    if (!record.detached) record.target = ownership_.granted(id);
    ++counters_.late;
    fresh.push_back(id);
  }
  return fresh;
}

std::vector<LeaseChange> CoreHandover::send_due(LeaseRecords& records, const std::string& cause,
                                                uint64_t tick) {
  std::vector<LeaseChange> changes;
  for (const bool growing : {false, true}) {
    for (auto& [id, record] : records) {
      if (ownership_.unconfirmed(id) >= kMostUnconfirmed) continue;
      const Lease& before = ownership_.granted(id);
      // It has to hear of it even where nothing changes.
      const bool announce = record.detached && !record.dismissed;
      if (!announce && is_same_lease(before, record.target)) continue;
      Lease next = next_lease(id, record);
      if (is_same_lease(before, next) && !announce) continue;
      if (only_gives_up(before, next) == growing) continue;
      changes.push_back(send(id, record, std::move(next), cause, tick));
    }
  }
  return changes.empty() ? break_deadlock(records, cause, tick) : changes;
}

// As much of the target as nobody else may be using. A client that could have none of it keeps one
// core meanwhile.
Lease CoreHandover::next_lease(ClientId id, const LeaseRecord& record) const {
  const Lease& target = record.target;
  const Lease& granted = ownership_.granted(id);
  Lease next;
  next.fraction = target.fraction;
  for (int core : target.cores) {
    if (ownership_.fits(id, {{core}, target.fraction})) next.cores.push_back(core);
  }
  if (!next.empty()) return next;
  if (target.empty() || granted.empty()) return {};
  const auto shared = std::find_if(granted.cores.begin(), granted.cores.end(),
                                   [&target](int core) { return has(target, core); });
  const bool stays = shared != granted.cores.end();
  next.cores.push_back(stays ? *shared : granted.cores.front());
  next.fraction = stays ? std::min(granted.fraction, target.fraction) : granted.fraction;
  return next;
}

LeaseChange CoreHandover::send(ClientId id, LeaseRecord& record, Lease next,
                               const std::string& cause, uint64_t tick) {
  LeaseChange change;
  change.id = id;
  change.before = ownership_.granted(id);
  change.last = record.detached;
  change.gain = record.gain;
  change.cause = cause_for(record, cause);
  change.lease = next;
  change.reason = change_text(id, record, change);
  for (int core : next.cores) counters_.cores_granted += has(change.before, core) ? 0U : 1U;
  ++counters_.changes;
  record.reason = change.reason;
  record.dismissed = record.detached;
  change.sequence = ownership_.send(id, std::move(next), tick);
  return change;
}

// Clients that each keep their only core until another's is free wait for ever. One of them has to
// be without for a moment.
std::vector<LeaseChange> CoreHandover::break_deadlock(LeaseRecords& records,
                                                      const std::string& cause, uint64_t tick) {
  LeaseRecord* stuck = nullptr;
  ClientId stuck_id = 0;
  for (auto& [id, record] : records) {
    if (record.late) continue;
    if (ownership_.unconfirmed(id) > 0) return {};
    const Lease& granted = ownership_.granted(id);
    const Lease& target = record.target;
    const bool keeps = !granted.empty() && !target.empty() &&
                       std::none_of(granted.cores.begin(), granted.cores.end(),
                                    [&target](int core) { return has(target, core); });
    if (keeps && stuck == nullptr) {
      stuck = &record;
      stuck_id = id;
    }
  }
  if (stuck == nullptr) return {};
  ++counters_.emptied;
  return {send(stuck_id, *stuck, {}, cause, tick)};
}

std::string CoreHandover::change_text(ClientId id, const LeaseRecord& record,
                                      const LeaseChange& change) const {
  std::string text =
      client_name(id) + " from " + size_of(change.before) + " to " + size_of(change.lease);
  for (int core : record.target.cores) {
    if (has(change.lease, core)) continue;
    text += " of " + size_of(record.target);
    const auto other = ownership_.other_user(id, core);
    if (other) text += ", more once " + client_name(*other) + " has given it up";
    break;
  }
  return text + ": " + change.cause;
}

std::string whole_change_text(const Lease& before, const LeaseChange& last) {
  return client_name(last.id) + " from " + size_of(before) + " to " + size_of(last.lease) + ": " +
         last.cause;
}

}  // namespace optile::sched
