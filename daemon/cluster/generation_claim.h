// One node's part in a job of LEAST to MOST nodes, which agrees anew, in a next generation, when
// one of its nodes is lost. Pure: a ClusterStore in, the moment by tick(). One thread.
//
// A node is one key under its own lease, which says whether it is ready or in which generation it
// has which rank. A generation begins where nobody is in one: the node that came first puts all
// that are ready into it, in one transaction that compares the key of each. While a node's key
// stands in a generation, no other one can begin; so whoever starts a rank only while its own lease
// lasts, by its own clock, never starts one of a former generation.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "daemon/cluster/rank_claim.h"

namespace optile::daemon {

// From the last node that came to the first start, where not all have come. A next generation does
// not wait.
inline constexpr std::chrono::seconds kLastCall{30};

class GenerationClaim {
 public:
  using Time = std::chrono::nanoseconds;  // monotonic

  struct Settings {
    ClusterKeys keys;
    std::string job;
    int least = 1;  // nodes
    int most = 1;
    std::string node;     // our name, for people
    std::string address;  // where the others reach us if we are rank 0
    int port = 0;
    std::string token;  // different in every process
    std::chrono::seconds ttl = kClaimTtl;
    std::chrono::seconds last_call = kLastCall;
    bool grows = false;                // a node that comes later is taken in at once
    std::function<void()> answered{};  // after each answer: next_tick() may be earlier now
    // For each lease: under the one before a generation may have begun that this node, which was to
    // be its rank 0, never heard of, and whose ranks look for it at the port that it had then.
    std::function<int()> next_port{};
  };

  // The store outlives it.
  GenerationClaim(ClusterStore& store, Settings settings);
  GenerationClaim(const GenerationClaim&) = delete;
  GenerationClaim& operator=(const GenerationClaim&) = delete;

  void tick(Time now);
  // When there is something to do; Time::max() while an answer is awaited, and when over or
  // refused.
  Time next_tick() const;
  // To be revoked by whoever leaves; 0 = none.
  ClusterLease lease() const { return lease_.id; }
  // Whether the rank of a generation that has begun may be started now.
  bool may_start(Time now) const;
  // No program of a generation runs here any more: this node is ready for the next one.
  void join_next(int port);
  // The program has ended with this code, and the job with it: the others are told, and those that
  // wait to take part need not. kOver once all know.
  void end_job(int code);

  enum class State {
    kGathering,  // in no generation
    kStarted,    // in one, and all of it are there
    kBroken,     // in one of which somebody is gone, or we are: its program is to be ended
    kOver,       // the job has ended
    kRefused,    // cannot take part; the message says why
  };
  struct View {
    State state = State::kGathering;
    int64_t generation = 0;  // in which this node is, or was last
    int rank = -1;
    int nodes = 0;                       // of the generation
    std::map<int, std::string> holders;  // of the generation, by rank; else of those that are ready
    std::string message;                 // what is in the way, or why it is broken, for people
    std::string master_address;          // of rank 0
    int master_port = 0;
    int code = 0;              // of kOver
    bool unreachable = false;  // of one that has started: etcd has not answered for a lease
    bool waits = true;         // for nodes, and not for the end of a generation
  };
  const View& view() const { return view_; }

 private:
  struct Member;
  using Members = std::map<std::string, Member>;  // by token

  std::string member_key(const std::string& token) const;
  Members read_members(const KeyRange& range);
  Transaction put_member(const Members& members, const Member& changed) const;

  void grant_or_keep_alive();
  void read();
  void commit();
  void failed(const base::Error& error);
  // What is to be changed next, if anything; sets the view.
  std::optional<Transaction> decide(const Members& members);
  std::optional<Transaction> begin_next(const Members& members);
  std::optional<Transaction> end_for_others(const Members& members);
  bool refuse(const Members& members);
  void enter(const Member& own, const Members& members);
  // "" = nothing has.
  std::string what_broke(const Members& members);

  // As this node counts it.
  struct OwnLease {
    ClusterLease id = 0;
    Time end{0};
    Time keep_alive_due{0};
  };
  ClusterStore& store_;
  Settings settings_;
  View view_;
  OwnLease lease_;
  std::optional<Transaction> change_;  // to be committed next
  Time due_{0};
  Time asked_at_{0};
  bool asking_ = false;
  bool joins_ = true;              // no program of a generation runs here
  bool begins_ = false;            // of those that are ready it came first
  std::optional<int> end_code_;    // of end_job()
  std::string other_kind_;         // the node of a launch with another notation of --nodes
  std::vector<std::string> came_;  // who was ready, and since when it is so
  Time came_at_{0};
};

}  // namespace optile::daemon
