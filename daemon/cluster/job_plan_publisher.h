// Publishes the plans of jobs before they are in force. Each is one transaction that compares who
// owns the job, which is the claim that rank 0's `optile launch` has, and the plan that was
// published before. So nobody publishes for a job that is another's by now, and of two plans that
// follow the same one only one is accepted. Pure: a ClusterStore in, the moment by tick(). One
// thread.
//
// What is published stands under the claim's lease and goes with it. What came of a transaction
// whose answer is lost is read.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "daemon/cluster/cluster_store.h"
#include "daemon/cluster/job_plan.h"
#include "daemon/cluster/node_record.h"

namespace optile::daemon {

// Jobs whose plans are published from this machine, of all users together, and of one.
inline constexpr std::size_t kMaxPublishedJobs = 64;
inline constexpr std::size_t kMaxPublishedJobsOfUser = 8;

// What an `optile launch` has in the store while its program runs.
struct LaunchClaim {
  std::string user;  // whose keys it stands among
  std::string job;
  std::string token;
  int64_t generation = 0;  // of a job of MIN:MAX nodes, from 1 on; 0: of a fixed number of them
};

// What stands in the key.
struct PublishedPlan {
  int protocol = kClusterProtocol;
  std::string token;  // of the claim
  int64_t generation = 0;
  std::string run;
  int64_t epoch = 0;  // the plan's number
  PlanDivision division;
  // To which its owner goes back where it does not gain: that was agreed to as well.
  std::optional<PlanDivision> way_back{};
};

std::string to_text(const PublishedPlan& plan);
// kInvalid for what is none. One of another protocol has nothing but that.
base::Result<PublishedPlan> read_published_plan(const std::string& text);

class JobPlanPublisher {
 public:
  // `answered`: after each answer of the store, which outlives this: next_tick() may be earlier.
  JobPlanPublisher(ClusterStore& store, std::function<void()> answered)
      : store_(store), answered_(std::move(answered)) {}
  JobPlanPublisher(const JobPlanPublisher&) = delete;
  JobPlanPublisher& operator=(const JobPlanPublisher&) = delete;

  enum class State {
    kAsked,       // nothing is known yet
    kAccepted,    // it is published
    kRefused,     // by what is compared: it is not, and no later one of this owner will be
    kUnreachable  // nobody knows; a later one settles it
  };
  struct Answer {
    State state = State::kAsked;
    std::string reason;  // for people; "" of what is asked or accepted
  };
  // Of the process `pid`, which lives until forget(). The first time it is asked, then what has
  // come of it. A plan with a higher number takes the place of the one before, whatever came of
  // that; numbers never come again in a run. kUnavailable: it has a lower number than the process's
  // last one, or there are too many jobs.
  base::Result<Answer> publish(const LaunchClaim& claim, const JobPlan& plan, int pid);
  void forget(int pid);

  void tick();
  // Time(0): there is something to do; Time::max(): nothing, or an answer is awaited.
  std::chrono::nanoseconds next_tick() const;

 private:
  using JobKey = std::pair<std::string, std::string>;  // user and job
  struct Ask {
    LaunchClaim claim;
    PublishedPlan plan;
    int pid = 0;
    Answer answer;
  };
  // The one that the store is asked about now.
  struct Work {
    Ask ask;
    KeyValue claim;   // as it was read
    int commits = 0;  // whose outcome is not known, or that did not come about
  };

  void read_claim();
  void read_published();
  void take_published(const KeyRange& range);
  void commit(int64_t revision);
  void try_again(const std::string& why);
  void settle(State state, const std::string& reason = "");

  ClusterStore& store_;
  std::function<void()> answered_;
  std::map<JobKey, Ask> asks_;  // the last one of each job
  std::optional<Work> work_;
};

}  // namespace optile::daemon
