// A ClusterStore without a network, for tests: one MemoryServer has the keys, each node reaches it
// by a MemoryStore of its own, which can be cut off and can lose what is sent. Nothing happens by
// itself: time is told, requests are carried out when deliver() says so. One thread.
#pragma once

#include <deque>
#include <map>
#include <string>

#include "daemon/cluster/cluster_store.h"

namespace optile::daemon {

class MemoryServer {
 public:
  using Time = std::chrono::milliseconds;  // since the server began

  // Ends the leases that are due.
  void advance(Time passed);
  Time now() const { return now_; }

  KeyRange get(const std::string& prefix) const;
  base::Result<Committed> commit(const Transaction& transaction);
  GrantedClusterLease grant_lease(std::chrono::seconds ttl);
  base::Result<GrantedClusterLease> keep_alive(ClusterLease lease);
  base::Result<ClusterLease> revoke_lease(ClusterLease lease);

 private:
  struct Granted {
    std::chrono::seconds ttl{0};
    Time end{0};
  };
  bool holds(const Compare& compare) const;
  base::Status check(const Transaction& transaction) const;
  void end_lease(ClusterLease lease);

  Time now_{0};
  int64_t revision_ = 1;
  ClusterLease last_lease_ = 0;
  std::map<std::string, KeyValue> keys_;
  std::map<ClusterLease, Granted> leases_;
};

class MemoryStore : public ClusterStore {
 public:
  // The server outlives it.
  explicit MemoryStore(MemoryServer& server) : server_(server) {}

  void get(const std::string& prefix, Callback<KeyRange> done) override;
  void commit(const Transaction& transaction, Callback<Committed> done) override;
  void grant_lease(std::chrono::seconds ttl, Callback<GrantedClusterLease> done) override;
  void keep_alive(ClusterLease lease, Callback<GrantedClusterLease> done) override;
  void revoke_lease(ClusterLease lease, Callback<ClusterLease> done) override;
  std::string description() const override { return "memory"; }

  // Every request fails, from now on and those that wait.
  void cut_off(bool cut) { cut_ = cut; }
  // Of the next request that is delivered: it is carried out, and its asker hears nothing of it.
  void lose_next_reply() { loses_reply_ = true; }
  // Carries out the oldest request that waits, and calls back. False: none waits.
  bool deliver();
  std::size_t waiting() const { return requests_.size(); }
  // How many requests were delivered, lost ones included.
  std::size_t delivered() const { return delivered_; }

 private:
  template <typename T>
  void request(std::function<base::Result<T>()> ask, Callback<T> done);

  MemoryServer& server_;
  std::deque<std::function<void()>> requests_;
  std::size_t delivered_ = 0;
  bool cut_ = false;
  bool loses_reply_ = false;
};

}  // namespace optile::daemon
