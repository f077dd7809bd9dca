// What befalls a simulated cluster: users who launch jobs, and all that may fail. One thread.
#pragma once

#include <string>
#include <vector>

#include "tests/daemon/cluster/cluster_invariants.h"
#include "tests/daemon/cluster/simulated_cluster.h"

namespace optile::daemon {

enum class Disturbance {
  kLostRequests,  // some of a node's
  kLostReplies,
  kLateMessages,  // many of a node's come seconds late
  kRequestsCut,   // none of a node's arrives
  kRepliesCut,    // all arrive, and no answer comes back
  kCutOff,
  kStoreSilent,  // for everybody
  kStoreRefusing,
  kStoreHalted,
  kStoreSlow,            // its disk is
  kClockJumps,           // a machine's monotonic one, forward
  kDaemonStopped,        // SIGSTOP, and SIGCONT later
  kDaemonKilled,         // and started again, under its name
  kOtherVersion,         // the same, and one of a later version of optile has its name for a while
  kKilledInTransaction,  // it was carried out, and whoever asked is dead before the answer
  kDaemonLeaves,         // and joins again
  kLeaderLeaves,         // soon after it became one
  kLaunchStopped,
  kLaunchKilled,
  kLaunchKilledAtStart,
  kLaunchInterrupted,
  kOtherNodes,  // one launch says another --nodes
};
const std::vector<Disturbance>& all_disturbances();
std::string name_of(Disturbance kind);

class ClusterDisturbances {
 public:
  struct Settings {
    std::vector<Disturbance> kinds;
    SimulatedTime most_between{std::chrono::seconds(10)};  // of two disturbances
    int jobs = 3;                                          // names of jobs
    int most_ranks = 5;
  };
  // Both outlive it.
  ClusterDisturbances(SimulatedCluster& cluster, const ClusterInvariants& invariants,
                      Settings settings)
      : cluster_(cluster), invariants_(invariants), settings_(std::move(settings)) {}

  void begin();
  // Nothing is disturbed any more, what was is mended, and nobody launches any more.
  void end();
  // Where a job has just begun it may kill some of it, and where a leader was just found it may
  // send it away. After whatever happened.
  void look();

 private:
  void disturb_again();
  void launch_again();
  void launch_job();
  void disturb(Disturbance kind);
  void disturb_link(Disturbance kind, SimulatedNode& node);
  void mend(SimulatedLink& link) const;
  void disturb_store(SimulatedService::State state);
  void disturb_daemon(Disturbance kind, SimulatedNode& node);
  void disturb_launch(Disturbance kind);
  void disturb_clock(SimulatedNode& node);
  void start_other_version(const SimulatedNode& node);
  void start_again(SimulatedNode& node);
  void kill_who_committed();
  void kill_some_of_start();
  void send_leader_away();
  SimulatedNode& draw_node();
  SimulatedNode& draw_victim();

  SimulatedCluster& cluster_;
  const ClusterInvariants& invariants_;
  Settings settings_;
  bool ended_ = false;
  std::size_t begun_ = 0;  // jobs that look() has seen
  int64_t leaders_ = 0;    // and leaders
};

}  // namespace optile::daemon
