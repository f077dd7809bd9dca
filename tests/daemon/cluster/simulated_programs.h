// The two programs of a simulated cluster, each around the code that the real one runs: a node's
// daemon, as daemon/cluster/cluster.h has it, and an `optile launch`. One thread.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "daemon/cluster/job_plan_publisher.h"
#include "daemon/cluster/job_plans.h"
#include "daemon/cluster/local_plans.h"
#include "daemon/cluster/membership.h"
#include "daemon/cluster/rank_claim.h"
#include "tests/daemon/cluster/simulated_network.h"

namespace optile::daemon {

inline const ClusterKeys kSimulatedKeys = {"u"};

class SimulatedDaemon {
 public:
  // All of them outlive it. `instance`: another one for every daemon.
  SimulatedDaemon(SimulatedWorld& world, SimulatedService& service, const SimulatedMachine& machine,
                  const std::string& instance);
  // Killed: nothing is told to the store, but for what is under way.
  ~SimulatedDaemon() { process_->end(); }
  SimulatedDaemon(const SimulatedDaemon&) = delete;
  SimulatedDaemon& operator=(const SimulatedDaemon&) = delete;

  const std::string& instance() const { return instance_; }
  const Membership& membership() const { return membership_; }
  const JobPlans& plans() const { return plans_; }
  SimulatedProcess& process() { return *process_; }
  // As it would say now, by its own clock.
  bool is_member() const { return membership_.is_member(now()); }
  bool is_leader() const { return membership_.is_leader(now()); }
  SimulatedTime now() const { return machine_.clock.read(world_.time.now()); }

  // Of a process that has ended by the time that the daemon hears of it: nothing.
  void take_plan(const JobPlan& plan, int pid, std::shared_ptr<const SimulatedProcess> teller);
  void forget_plans(int pid);
  // The answer comes to the process that asks, where both live.
  void publish(const LaunchClaim& claim, const JobPlan& plan, int pid,
               std::shared_ptr<SimulatedProcess> asks,
               std::function<void(const JobPlanPublisher::Answer&)> take_answer);

 private:
  void schedule();

  SimulatedWorld& world_;
  const SimulatedMachine& machine_;
  std::string instance_;
  std::shared_ptr<SimulatedProcess> process_ = std::make_shared<SimulatedProcess>();
  SimulatedStore store_;
  SimulatedTimer timer_;
  Membership membership_;
  JobPlans plans_;
  JobPlanPublisher publisher_;
  LocalPlans local_plans_;
};

class SimulatedLaunch {
 public:
  struct Settings {
    int pid = 0;  // another one for every launch
    std::string job;
    int nodes = 2;
    SimulatedTime patience{0};  // for the start
    SimulatedTime runs_for{0};  // the program
    // Of rank 0, while its program runs.
    std::function<void(const SimulatedLaunch& launch, const JobPlan& plan)> tell_plan;
    // Asks its machine's daemon, if there is one, which calls take_answer().
    std::function<void(SimulatedLaunch& launch, const JobPlan& plan)> publish_plan;
  };
  SimulatedLaunch(SimulatedWorld& world, SimulatedService& service, const SimulatedMachine& machine,
                  Settings settings);
  ~SimulatedLaunch() { process_->end(); }
  SimulatedLaunch(const SimulatedLaunch&) = delete;
  SimulatedLaunch& operator=(const SimulatedLaunch&) = delete;

  static std::string token_of(int pid) { return "t" + std::to_string(pid) + "-"; }
  std::string token() const { return token_of(settings_.pid); }
  const Settings& settings() const { return settings_; }
  const SimulatedMachine& machine() const { return machine_; }
  const RankClaim& claim() const { return claim_; }
  const std::shared_ptr<SimulatedProcess>& process() const { return process_; }
  const JobPlan& plan() const { return plan_; }  // as last told; of no run: none was
  void take_answer(int64_t epoch, const JobPlanPublisher::Answer& answer);
  int64_t accepted() const { return accepted_; }  // the last plan that was; 0: none
  bool refused() const { return refused_; }       // it changes no plan any more
  bool started() const { return started_; }
  bool leaving() const { return leaving_; }
  bool ended() const { return process_->ended(); }
  // Waits for the others, as somebody expects it to.
  bool waits() const { return !started_ && !leaving_ && !ended(); }
  // Somebody interrupts it, or its program is done.
  void leave();

 private:
  void schedule();
  void begin();
  void tell_plan();
  void change_plan();
  SimulatedTime now() const { return machine_.clock.read(world_.time.now()); }

  SimulatedWorld& world_;
  const SimulatedMachine& machine_;
  Settings settings_;
  std::shared_ptr<SimulatedProcess> process_ = std::make_shared<SimulatedProcess>();
  SimulatedStore store_;
  SimulatedTimer timer_;      // of the claim
  SimulatedTimer end_timer_;  // of patience, then of the program
  SimulatedTimer plan_timer_;
  RankClaim claim_;
  JobPlan plan_;
  std::optional<JobPlan> asked_;  // until there is an answer
  int times_asked_ = 0;
  int64_t last_epoch_ = 1;
  int64_t accepted_ = 0;
  bool refused_ = false;
  bool started_ = false;
  bool leaving_ = false;
};

}  // namespace optile::daemon
