// What has to be true of a simulated cluster at every moment, and what once it is left in peace. It
// looks at all nodes and into the store at once, as nobody in the cluster can. One thread.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/daemon/cluster/simulated_cluster.h"

namespace optile::daemon {

// A cluster that is left in peace: its nodes are members and one leads.
inline constexpr std::chrono::seconds kSettlesWithin{30};
// From then on: launches that can start have started, and plans of what has ended are gone. Ranks
// of the dead are free by then.
inline constexpr std::chrono::seconds kCatchesUpWithin{20};

class ClusterInvariants {
 public:
  // It outlives this.
  explicit ClusterInvariants(SimulatedCluster& cluster) : cluster_(cluster) {}

  // After whatever happened. The first thing that is wrong; "" = nothing.
  std::string check();
  // Of a cluster whose disturbances ended long enough ago, more than once: who waits and could
  // start does so within kStartsWithin.
  std::string check_settled();
  // As that found it: nobody runs, and who still waits waits for others to come.
  bool is_quiet() const;

  // So that it is seen that something happened at all.
  struct Counts {
    int64_t leaders = 0;        // changes of the leader
    std::size_t begun = 0;      // jobs
    std::size_t started = 0;    // launches
    std::size_t plans = 0;      // changes of a plan in the store
    std::size_t published = 0;  // plans
    std::size_t refused = 0;    // launches, by what was published meanwhile
    std::size_t dead = 0;       // of whom nothing stayed
  };
  const Counts& counts() const { return counts_; }
  // Who stood in the last start; each time another one.
  const std::vector<std::string>& last_start() const { return last_start_; }

 private:
  void check_leaders();
  void check_members();
  void check_epoch();
  void check_holders(const std::string& prefix);
  void check_run(const KeyValue& rank);
  void check_starts();
  void check_start(const std::string& job, const KeyRange& keys, const KeyValue& first);
  void check_launches();
  void check_plans();
  void check_published();
  void check_accepted();
  void check_dead();
  void check_waiting();
  void check_running();
  void fail(const std::string& what);
  void fail_if_it_stays(const std::string& what);

  // Of a token that stood in a start.
  struct Place {
    int rank = 0;
    int nodes = 0;
    std::string first;  // rank 0's token
  };
  struct Told {
    int64_t create_revision = 0;
    std::string run;
    std::pair<int64_t, int64_t> version;
  };

  SimulatedCluster& cluster_;
  std::string wrong_;
  int64_t revision_ = 0;  // of the store, when last looked at
  std::size_t members_ = 0;
  KeyValue leader_;  // as it stands there; of no revision: nobody
  int64_t epoch_ = 0;
  std::map<int64_t, std::string> leader_at_;          // epoch → instance
  std::vector<std::pair<int, int64_t>> seen_epochs_;  // of each node: its daemon, its epoch
  std::map<std::string, std::pair<int64_t, std::string>> holders_;  // by key: since when, who
  std::map<std::string, Place> places_;
  std::set<std::string> started_;
  std::map<std::string, Told> told_;                        // by key
  std::map<std::string, int64_t> published_;                // run → the last plan's number
  std::set<std::pair<std::string, int64_t>> publications_;  // runs and numbers
  std::set<std::string> refused_;                           // tokens
  std::vector<std::string> last_start_;
  std::map<std::string, SimulatedTime> behind_;         // what may not stay → since when
  std::map<std::string, SimulatedTime> behind_before_;  // as the last look found it
  Counts counts_;
};

}  // namespace optile::daemon
