// The plans of jobs in a cluster, so that every node can show them: this node's stand under its
// lease, everybody's are read. Nothing that stands there starts or changes a process. Pure: a
// ClusterStore in, the moment by tick(). One thread.
//
// A plan has a key by its user, its job and its run, so that jobs of one name do not meet. What
// stands there is compared in the transaction that replaces it: a plan that was told earlier never
// takes the place of a later one.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "daemon/cluster/cluster_store.h"
#include "daemon/cluster/job_plan.h"
#include "daemon/cluster/node_record.h"

namespace optile::daemon {

// From one look at all plans to the next; sooner where this node's have changed, at most each
// kSoonestPlanLook.
inline constexpr std::chrono::seconds kPlanLook{3};
inline constexpr std::chrono::seconds kSoonestPlanLook{1};

// What stands in a key, or is kept for it.
struct PlanRecord {
  int protocol = kClusterProtocol;
  std::string owner;  // the instance of the daemon that put it
  std::string node;   // its name
  unsigned uid = 0;   // who runs the job
  JobPlan plan;
};

std::string to_text(const PlanRecord& record);
// kInvalid for what is no record. One of another protocol has nothing but that.
base::Result<PlanRecord> read_plan_record(const std::string& text);

// A plan of a job whose rank 0 runs on this node.
struct OwnPlan {
  unsigned uid = 0;
  JobPlan plan;
};

class JobPlans {
 public:
  using Time = std::chrono::nanoseconds;  // monotonic

  struct Settings {
    ClusterKeys keys;
    std::string node;                  // this one's name
    std::string owner;                 // another one in every process
    std::function<void()> answered{};  // after each answer: next_tick() may be earlier now
  };

  // The store outlives it.
  JobPlans(ClusterStore& store, Settings settings);
  JobPlans(const JobPlans&) = delete;
  JobPlans& operator=(const JobPlans&) = delete;

  // All of this node's, in the place of those before.
  void set_own(std::vector<OwnPlan> plans);
  // Asks what is due. `lease`: the node's, 0 while it is no member: then nothing is asked, and what
  // was read counts no more.
  void tick(Time now, ClusterLease lease);
  // When there is something to do as a member; Time::max() while an answer is awaited.
  Time next_tick() const { return asking_ ? Time::max() : due_; }

  struct Seen {
    PlanRecord record;
    std::chrono::nanoseconds age{0};  // of what is known of it
  };
  struct View {
    std::vector<Seen> plans;            // of other nodes, as last read
    std::vector<std::string> messages;  // what is in the way, for people
  };
  View view(Time now) const;

 private:
  // What stands in the store, read once a round.
  struct Entry {
    const KeyValue& there;
    base::Result<PlanRecord> record;
  };

  std::string key_of(unsigned uid, const JobPlan& plan) const {
    return settings_.keys.plan(uid, plan.job, plan.run);
  }
  void read();
  void take(const KeyRange& range);
  void show(const Entry& entry);
  std::optional<Transaction> decide(const std::vector<Entry>& entries) const;
  std::optional<Transaction> decide_own(const OwnPlan& own, const Entry* entry) const;
  void commit(const Transaction& transaction);
  void fail(const base::Error& error);
  void finish_round();

  ClusterStore& store_;
  Settings settings_;
  std::vector<OwnPlan> own_;
  ClusterLease lease_ = 0;
  bool asking_ = false;
  bool changed_ = false;  // own_, since the last look
  int changes_ = 0;       // of this round
  Time asked_at_{0};
  Time due_{0};
  Time read_at_{0};
  std::vector<PlanRecord> known_;
  std::vector<std::string> messages_;
};

}  // namespace optile::daemon
