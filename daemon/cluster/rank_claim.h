// One node's claim of a rank of a job: each of the N ranks goes to one claimer, in the order in
// which they come, and all of them start once N have claimed. Pure: a ClusterStore in, the moment
// by tick(). One thread.
//
// Everything in the store stands under the lease of the claimer that put it, so that the rank of
// one that dies before the start is free again, and nothing stays behind a job. What came of a
// claim is always read, never taken from the answer to the transaction, which may be lost.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "daemon/cluster/cluster_store.h"
#include "daemon/cluster/node_record.h"

namespace optile::daemon {

inline constexpr std::chrono::seconds kClaimTtl{10};
// From one look at the others' claims to the next, of the one that begins the job.
inline constexpr std::chrono::milliseconds kClaimLook{1000};
inline constexpr std::chrono::milliseconds kLongestClaimLook{10000};
inline constexpr int kLooksOfOthers = 3;    // a second, of all others of a job together
inline constexpr int kClaimKeepAlives = 3;  // in a lease's time
inline constexpr int kClaimMargin = 5;      // of that time, for clocks of different speeds
inline constexpr std::chrono::milliseconds kClaimPause{500};  // after a failure
// The start compares the keys of all ranks at once, and etcd takes 128 compares.
inline constexpr int kMaxRanks = 100;

// The same of one of `nodes` that waits for what that one puts.
std::chrono::milliseconds look_of_others(int nodes);

class RankClaim {
 public:
  using Time = std::chrono::nanoseconds;  // monotonic

  struct Settings {
    ClusterKeys keys;
    std::string job;
    int nodes = 1;        // the job's ranks
    std::string node;     // our name, for people
    std::string address;  // where the others reach us if we are rank 0
    int port = 0;
    std::string token;  // different in every process and at every call of the program
    std::chrono::seconds ttl = kClaimTtl;
    std::function<void()> answered{};  // after each answer: next_tick() may be earlier now
  };

  // The store outlives it.
  RankClaim(ClusterStore& store, Settings settings);
  RankClaim(const RankClaim&) = delete;
  RankClaim& operator=(const RankClaim&) = delete;

  void tick(Time now);
  // When there is something to do; Time::max() while an answer is awaited, and when refused.
  Time next_tick() const;
  // To be revoked by whoever leaves; 0 = none.
  ClusterLease lease() const { return lease_; }

  enum class State {
    kClaiming,  // has no rank
    kWaiting,   // has one; not all have
    kStarted,   // all had one at one moment: the job has begun
    kRefused,   // this claim cannot become one; the message says why
  };
  struct View {
    State state = State::kClaiming;
    int rank = -1;
    std::map<int, std::string> holders;  // rank → node, of the run that gathers
    std::string message;                 // what is in the way, for people
    std::string master_address;          // of rank 0, once started
    int master_port = 0;
    // Of one that has started: the store forgot us, or soon will; the program need not.
    bool lease_lost = false;
  };
  const View& view() const { return view_; }

 private:
  struct Holder {
    std::string token;
    std::string run;  // the token of the run's rank 0
    std::string node;
    std::string address;
    int port = 0;
    int nodes = 0;
    KeyValue entry{};
  };
  // The same for all ranks, each of which has it under its own lease: it is there however soon the
  // others end.
  struct Start {
    std::vector<std::string> tokens;  // by rank
    std::string address;              // of rank 0
    int port = 0;
    bool kept = false;  // our rank has it under our lease of now
  };
  // The job's keys as they were read at one moment.
  struct Snapshot {
    std::map<int, Holder> ranks;
    std::optional<Start> start;  // that we are part of
    bool runs = false;           // a rank 0 has begun, and has not ended
    int64_t claim_revision = 0;  // of our claim's key; 0 = not there
    int own = -1;                // our rank
    std::string elastic;         // a node of a job with LEAST:MOST nodes; "" = none
  };

  std::string rank_key(int rank) const;
  std::string start_key(int rank) const;
  std::string claim_key() const;
  Snapshot read_snapshot(const KeyRange& range) const;
  void read_entry(const KeyValue& entry, Snapshot& seen) const;
  Operation put_rank(int rank, const std::string& run) const;

  void grant_or_keep_alive();
  void read();
  void commit();
  void take(const Snapshot& seen);
  // What is to be changed next, if anything; sets the view.
  std::optional<Transaction> decide(const Snapshot& seen);
  std::optional<Transaction> decide_without_rank(const Snapshot& seen);
  std::optional<Transaction> decide_with_rank(const Snapshot& seen);
  Transaction claim(const Snapshot& seen, int rank, const std::string& run) const;
  void failed(const base::Error& error);

  ClusterStore& store_;
  Settings settings_;
  View view_;
  std::optional<Transaction> change_;  // to be committed next
  ClusterLease lease_ = 0;
  Time lease_end_{0};  // as this node counts
  Time keep_alive_due_{0};
  Time due_{0};
  Time asked_at_{0};
  bool asking_ = false;
};

}  // namespace optile::daemon
