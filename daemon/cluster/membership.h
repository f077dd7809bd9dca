// Whether this node is a member of the cluster, who else is, and who leads. Pure: a ClusterStore
// in, the moment by tick(). One thread.
//
// All that is this node's stands under one lease. By this node's own monotonic clock the lease ends
// earlier than in the store, since its time is counted from before it was asked for: a node that
// hears nothing any more stops counting itself a member, and the leader, before anybody else can
// be.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "daemon/cluster/cluster_store.h"
#include "daemon/cluster/node_record.h"

namespace optile::daemon {

// A node whose daemon died is listed for so long.
inline constexpr std::chrono::seconds kMembershipTtl{10};

class Membership {
 public:
  using Time = std::chrono::nanoseconds;  // monotonic

  struct Settings {
    ClusterKeys keys;
    NodeRecord node;  // its instance is another one in every process
    std::chrono::seconds ttl = kMembershipTtl;
    std::function<void()> answered{};  // after each answer: next_tick() may be earlier now
    std::function<NodeMeasurements()> measured{};  // as the others are told from the next round on
    std::function<void(const std::vector<NodeRecord>& nodes)> nodes_read{};  // all, each time
  };

  // The store outlives it.
  Membership(ClusterStore& store, Settings settings);
  Membership(const Membership&) = delete;
  Membership& operator=(const Membership&) = delete;

  // Asks what is due. About one request a second while nothing changes.
  void tick(Time now);
  // When there is something to do; Time::max() while an answer is awaited.
  Time next_tick() const;

  bool is_member(Time now) const { return registered_ && lease_ != 0 && now < lease_end_; }
  bool is_leader(Time now) const { return leads_ && is_member(now); }
  // Of the last change of the leader that was seen; 0 = none was yet.
  int64_t epoch() const { return epoch_; }
  // To be revoked by whoever leaves; 0 = none.
  ClusterLease lease() const { return lease_; }

  struct Seen {
    NodeRecord record;
    bool leader = false;
    std::chrono::nanoseconds age{0};  // of what is known of it
  };
  struct View {
    bool member = false;
    bool leader = false;
    bool reachable = false;  // the store answered the last request
    int64_t epoch = 0;
    std::string leader_name;            // "" = nobody, as far as is known
    std::vector<Seen> nodes;            // as last read
    std::vector<std::string> messages;  // what is in the way, for people
  };
  View view(Time now) const;
  // The same without the nodes, of which there may be many.
  View own_view(Time now) const;

 private:
  enum class Step { kGrant, kKeepAlive, kReadNodes, kRegister, kReadLeader, kClaim };

  void ask(Step step);
  void grant_or_keep_alive();
  void read_nodes();
  void take_nodes(const KeyRange& range);
  void register_node();
  void read_leader();
  void take_leader(const KeyRange& range);
  void claim_leadership();
  void take_lease(const GrantedClusterLease& granted);
  void end_lease();
  void failed(const base::Error& error);
  void finish_round();

  ClusterStore& store_;
  Settings settings_;
  Step next_ = Step::kGrant;
  bool asking_ = false;
  Time due_{0};
  Time asked_at_{0};     // the request under way, or the last one
  Time round_began_{0};  // the last keep-alive
  std::chrono::milliseconds backoff_{0};

  ClusterLease lease_ = 0;
  Time lease_end_{0};  // as this node counts
  bool registered_ = false;
  bool leads_ = false;
  int64_t epoch_ = 0;

  // Of what was read: for the next transaction, and for people.
  struct Known {
    std::vector<NodeRecord> nodes;
    Time nodes_read{0};
    std::vector<std::string> strangers;  // keys that this node cannot read, or other protocols
    std::optional<KeyValue> own;         // this node's key
    bool name_taken = false;             // by another process
    bool has_leader = false;
    std::string leader_name;
    int64_t epoch_revision = 0;
    std::string error;  // of the last request; "" = it was answered
  };
  Known known_;
};

}  // namespace optile::daemon
