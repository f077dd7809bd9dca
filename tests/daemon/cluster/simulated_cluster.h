// A cluster in one process and in played time: nodes with clocks of their own, their daemons and
// launches, and the store between them. All of a run follows from its seed. One thread.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "tests/daemon/cluster/simulated_programs.h"

namespace optile::daemon {

struct SimulatedNode {
  SimulatedMachine machine;
  std::unique_ptr<SimulatedDaemon> daemon;  // null: there is none now
  int daemons = 0;                          // that it had
};

class SimulatedCluster {
 public:
  SimulatedCluster(int nodes, uint64_t seed);
  SimulatedCluster(const SimulatedCluster&) = delete;
  SimulatedCluster& operator=(const SimulatedCluster&) = delete;

  SimulatedWorld& world() { return world_; }
  SimulatedTime now() const { return world_.time.now(); }
  SimulatedService& service() { return service_; }
  const std::vector<std::unique_ptr<SimulatedNode>>& nodes() const { return nodes_; }
  const std::vector<std::unique_ptr<SimulatedLaunch>>& launches() const { return launches_; }
  SimulatedLaunch* launch_of(const std::string& token) const;

  void start_daemon(SimulatedNode& node);
  void kill_daemon(SimulatedNode& node);
  // As `optile cluster leave`.
  void leave_with_daemon(SimulatedNode& node);
  void launch(const SimulatedNode& node, const std::string& job, int nodes, SimulatedTime runs_for);
  void kill_launch(const SimulatedLaunch& launch);

  // Called after whatever happens; "" = go on, else what is wrong, and nothing happens any more.
  void watch(std::function<std::string()> look) { look_ = std::move(look); }
  // False: something is wrong.
  bool run(SimulatedTime time);
  const std::string& wrong() const { return wrong_; }

  // What is worth to be told of a run that went wrong.
  void note(const std::string& text);
  std::string history() const;

  // Who was killed, by what stands in its keys.
  struct Dead {
    std::string name;
    MemoryServer::Time at{0};  // as the store counts
  };
  std::deque<Dead>& dead() { return dead_; }

 private:
  void remove_ended();
  void tell_plan(const SimulatedLaunch& launch, const JobPlan& plan);
  void publish_plan(SimulatedLaunch& launch, const JobPlan& plan);
  void forget_plans(const SimulatedLaunch& launch);

  SimulatedWorld world_;
  SimulatedService service_;
  std::vector<std::unique_ptr<SimulatedNode>> nodes_;
  std::vector<std::unique_ptr<SimulatedLaunch>> launches_;
  std::function<std::string()> look_;
  std::string wrong_;
  std::deque<std::string> history_;
  std::deque<Dead> dead_;
  int last_pid_ = 0;
};

}  // namespace optile::daemon
