// The lease table's part in overlaps: what two clients may both use, on top of the plan.
#include <algorithm>
#include <iterator>
#include <utility>

#include "sched/lease_table.h"

namespace optile::sched {
namespace {

using base::Error;
using base::ErrorKind;
using base::Status;

bool holds(const std::vector<int>& cores, int core) {
  return std::binary_search(cores.begin(), cores.end(), core);
}

}  // namespace

// Its target, and while an overlap is in force the shared cores too.
Lease LeaseTable::wanted(ClientId id, const Client& client) const {
  Lease wanted = client.target;
  if (!overlap_ || !overlap_->has(id)) return wanted;
  wanted.cores.clear();
  std::set_union(client.target.cores.begin(), client.target.cores.end(), overlap_->cores.begin(),
                 overlap_->cores.end(), std::back_inserter(wanted.cores));
  wanted.shared = overlap_->cores;
  wanted.partner = overlap_->other(id);
  wanted.upper = id == overlap_->second;
  return wanted;
}

Status LeaseTable::can_overlap(ClientId id, const Overlap& overlap) const {
  const auto found = clients_.find(id);
  if (found == clients_.end() || found->second.detached) {
    return Error{ErrorKind::kNotFound, "client " + std::to_string(id) + " has no lease here"};
  }
  const Client& client = found->second;
  const Lease& granted = ledger_.granted(id);
  const bool calm = !client.paused && !client.late && !client.revoked && client.pin.empty() &&
                    !client.demand.idle && !granted.empty() && granted.fraction >= 1.0 &&
                    granted == client.target && ledger_.unconfirmed(id) == 0;
  if (!calm) {
    return Error{ErrorKind::kUnavailable,
                 "client " + std::to_string(id) + " is not in calm possession of a whole lease"};
  }
  const bool allowed =
      client.bound.empty() || std::includes(client.bound.begin(), client.bound.end(),
                                            overlap.cores.begin(), overlap.cores.end());
  if (allowed) return {};
  return Error{ErrorKind::kInvalid, "client " + std::to_string(id) + " was started on other cores"};
}

Status LeaseTable::overlap(Overlap overlap, std::string why) {
  if (overlap_ == overlap) return {};
  if (overlap.first == overlap.second || overlap.cores.empty() ||
      !std::is_sorted(overlap.cores.begin(), overlap.cores.end())) {
    return Error{ErrorKind::kInvalid, "an overlap is of two clients, on cores of theirs"};
  }
  if (overlap_ || stale_ || ledger_.shares_any()) {
    return Error{ErrorKind::kUnavailable, "another overlap or plan is not carried out yet"};
  }
  for (ClientId id : {overlap.first, overlap.second}) {
    if (Status can = can_overlap(id, overlap); !can.ok()) return can;
  }
  const std::vector<int>& first = clients_.at(overlap.first).target.cores;
  const std::vector<int>& second = clients_.at(overlap.second).target.cores;
  for (int core : overlap.cores) {
    if (holds(first, core) || holds(second, core)) continue;
    return Error{ErrorKind::kInvalid, "core " + std::to_string(core) + " is neither one's"};
  }
  overlap_ = std::move(overlap);
  overlap_cause_ = std::move(why);
  ++counters_.overlaps;
  return {};
}

void LeaseTable::end_overlap(const std::string& why) {
  if (!overlap_) return;
  overlap_.reset();
  overlap_cause_ = why;
}

}  // namespace optile::sched
