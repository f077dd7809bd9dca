// The daemon's part in a cluster: joins one, keeps its membership, leaves; and the plans of jobs,
// those of this machine without a cluster too. Without a cluster no timer is armed. The daemon's
// one thread.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "daemon/cluster/cluster_options.h"
#include "daemon/cluster/etcd_store.h"
#include "daemon/cluster/job_plan_publisher.h"
#include "daemon/cluster/job_plans.h"
#include "daemon/cluster/local_plans.h"
#include "daemon/cluster/membership.h"

namespace optile::daemon {

// The machine that the others are told of.
struct ClusterMachine {
  int cores = 0;
  int tiles = 0;
  uint64_t memory_bytes = 0;
};

struct ClusterView {
  std::string user;  // whose keys are used
  NodeRecord node;   // this one
  std::vector<std::string> endpoints;
  std::string endpoint;  // that is asked now
  Membership::View membership;
};

// A job's plan, and where its rank 0 runs.
struct ClusterPlan {
  std::string node;
  unsigned uid = 0;
  JobPlan plan;
  std::chrono::nanoseconds age{0};  // since it was told, or read
};
struct ClusterPlans {
  std::vector<ClusterPlan> plans;     // by job
  std::vector<std::string> messages;  // what is in the way, for people
};

// The end of a daemon waits so long for an etcd that does not answer.
inline constexpr std::chrono::milliseconds kEndIsTold{1000};

class Cluster {
 public:
  struct Dependencies {
    ClusterMachine machine;
    std::function<uint64_t()> monotonic_ns;  // goes on while the machine is suspended
    std::function<void(const std::string& line)> write_log;
    std::function<void()> changed;  // joined() or has_local_plans() may be another now
  };
  // `io` outlives it.
  Cluster(boost::asio::io_context& io, Dependencies dependencies);
  ~Cluster();
  Cluster(const Cluster&) = delete;
  Cluster& operator=(const Cluster&) = delete;

  // Begins to join, and goes on trying until it is told to leave. kUnavailable: it is in another
  // cluster, or under another name; kInvalid, kDenied: the options cannot be used.
  base::Status join(const ClusterOptions& options);
  // kNotFound: there is nothing to leave. The keys go at once where etcd answers, else as their
  // lease ends.
  base::Status leave();
  // At the daemon's end: as leave(), but waits, kEndIsTold at most, until etcd has heard of it.
  void end();
  // Ends without a word to etcd: the lease ends by itself.
  void stop();

  bool joined() const { return member_ != nullptr; }
  std::optional<ClusterView> view() const;

  // A plan that a process of this machine tells. It is gone when that process ends. kUnavailable:
  // as LocalPlans::take(), or the process has ended.
  base::Status take_plan(JobPlan plan, const PlanSource& source);
  // Asks the cluster whether this may be the plan of the process's job, as
  // JobPlanPublisher::publish(); the claim's user is that of the process. kUnavailable besides:
  // this node is in no cluster, or the process has ended.
  base::Result<JobPlanPublisher::Answer> publish_plan(LaunchClaim claim, const JobPlan& plan,
                                                      const PlanSource& source);
  bool has_local_plans() const { return !local_plans_.all().empty(); }
  // This machine's, and while the node is a member those of all others.
  ClusterPlans plans() const;

 private:
  struct Member;
  std::chrono::nanoseconds now() const;
  void schedule();
  base::Status watch(int pid);
  void forget_plans(int pid);
  void tell_plans();
  void log_changes(const Membership::View& view);

  boost::asio::io_context& io_;
  Dependencies dependencies_;
  boost::asio::steady_timer timer_;
  std::unique_ptr<Member> member_;
  std::unique_ptr<EtcdStore> leaving_;  // until etcd has heard of it
  LocalPlans local_plans_;
  std::map<int, boost::asio::posix::stream_descriptor> told_by_;  // pid → its pidfd
  std::map<unsigned, std::string> accounts_;  // uid → its name: looking it up may take long
};

}  // namespace optile::daemon
