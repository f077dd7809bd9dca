#include "daemon/cluster/memory_store.h"

#include <algorithm>
#include <set>
#include <utility>

namespace optile::daemon {
namespace {

base::Error no_such_lease() {
  return {base::ErrorKind::kNotFound, "there is no such lease; it may have ended"};
}

}  // namespace

void MemoryServer::advance(Time passed) {
  now_ += passed;
  std::vector<ClusterLease> ended;
  for (const auto& [id, granted] : leases_) {
    if (granted.end <= now_) ended.push_back(id);
  }
  for (const ClusterLease id : ended) end_lease(id);
}

KeyRange MemoryServer::get(const std::string& prefix) const {
  KeyRange found;
  found.revision = revision_;
  for (auto at = keys_.lower_bound(prefix); at != keys_.end() && at->first.starts_with(prefix);
       ++at) {
    found.entries.push_back(at->second);
  }
  return found;
}

bool MemoryServer::holds(const Compare& compare) const {
  const auto found = keys_.find(compare.key);
  if (compare.target == Compare::Target::kValue) {
    return found != keys_.end() && found->second.value == compare.value;
  }
  if (found == keys_.end()) return compare.revision == 0;
  return compare.revision == (compare.target == Compare::Target::kCreateRevision
                                  ? found->second.create_revision
                                  : found->second.mod_revision);
}

base::Status MemoryServer::check(const Transaction& transaction) const {
  std::set<std::string> changed;
  for (const Operation& one : transaction.operations) {
    if (!changed.insert(one.key).second) {
      return base::invalid("a transaction changes " + one.key + " twice");
    }
    if (one.lease != 0 && !leases_.contains(one.lease)) return no_such_lease();
  }
  return {};
}

base::Result<Committed> MemoryServer::commit(const Transaction& transaction) {
  const bool held = std::all_of(transaction.compares.begin(), transaction.compares.end(),
                                [this](const Compare& one) { return holds(one); });
  if (!held) return Committed{false, revision_};
  if (const base::Status usable = check(transaction); !usable.ok()) return usable.error();
  const int64_t revision = revision_ + 1;
  for (const Operation& one : transaction.operations) {
    if (one.kind == Operation::Kind::kDelete) {
      if (keys_.erase(one.key) > 0) revision_ = revision;
      continue;
    }
    KeyValue& entry = keys_[one.key];
    const int64_t created = entry.create_revision == 0 ? revision : entry.create_revision;
    entry = {one.key, one.value, created, revision, one.lease};
    revision_ = revision;
  }
  return Committed{true, revision_};
}

GrantedClusterLease MemoryServer::grant_lease(std::chrono::seconds ttl) {
  leases_[++last_lease_] = {ttl, now_ + ttl};
  return {last_lease_, ttl};
}

base::Result<GrantedClusterLease> MemoryServer::keep_alive(ClusterLease lease) {
  const auto found = leases_.find(lease);
  if (found == leases_.end()) return no_such_lease();
  found->second.end = now_ + found->second.ttl;
  return GrantedClusterLease{lease, found->second.ttl};
}

base::Result<ClusterLease> MemoryServer::revoke_lease(ClusterLease lease) {
  if (!leases_.contains(lease)) return no_such_lease();
  end_lease(lease);
  return lease;
}

void MemoryServer::end_lease(ClusterLease lease) {
  leases_.erase(lease);
  const std::size_t deleted =
      std::erase_if(keys_, [lease](const auto& entry) { return entry.second.lease == lease; });
  if (deleted > 0) ++revision_;
}

template <typename T>
void MemoryStore::request(std::function<base::Result<T>()> ask, Callback<T> done) {
  requests_.push_back([this, ask = std::move(ask), done = std::move(done)] {
    const base::Error lost = {base::ErrorKind::kUnavailable, "nobody answers"};
    if (cut_) return done(lost);
    base::Result<T> outcome = ask();
    if (std::exchange(loses_reply_, false)) return done(lost);
    done(std::move(outcome));
  });
}

void MemoryStore::get(const std::string& prefix, Callback<KeyRange> done) {
  request<KeyRange>([this, prefix] { return server_.get(prefix); }, std::move(done));
}

void MemoryStore::commit(const Transaction& transaction, Callback<Committed> done) {
  request<Committed>([this, transaction] { return server_.commit(transaction); }, std::move(done));
}

void MemoryStore::grant_lease(std::chrono::seconds ttl, Callback<GrantedClusterLease> done) {
  request<GrantedClusterLease>([this, ttl] { return server_.grant_lease(ttl); }, std::move(done));
}

void MemoryStore::keep_alive(ClusterLease lease, Callback<GrantedClusterLease> done) {
  request<GrantedClusterLease>([this, lease] { return server_.keep_alive(lease); },
                               std::move(done));
}

void MemoryStore::revoke_lease(ClusterLease lease, Callback<ClusterLease> done) {
  request<ClusterLease>([this, lease] { return server_.revoke_lease(lease); }, std::move(done));
}

bool MemoryStore::deliver() {
  if (requests_.empty()) return false;
  const std::function<void()> oldest = std::move(requests_.front());
  requests_.pop_front();
  ++delivered_;
  oldest();
  return true;
}

}  // namespace optile::daemon
