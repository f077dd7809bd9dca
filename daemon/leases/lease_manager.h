// Which cores each attached client may use: who gets a lease, what the leases hear of the clients
// and of their users, and what follows for a client. The clock comes in, there is no descriptor and
// no wait here. Owned by the controller; the daemon's one thread.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "daemon/leases/expected_arrivals.h"
#include "daemon/leases/lease_commands.h"
#include "daemon/leases/lease_history.h"
#include "daemon/leases/leases.h"
#include "daemon/leases/managed_client.h"
#include "daemon/leases/time_sharing.h"
#include "daemon/load/co_runner_load.h"
#include "daemon/store/program_history.h"
#include "perfmodel/machine/budget.h"
#include "perfmodel/machine/machine.h"
#include "perfmodel/profile/launch_plan.h"

namespace optile::daemon {

// What is read and set of processes. Made by the daemon; tests hand in their own.
struct LeaseDependencies {
  // Budget of a process; pid 0 = the daemon's own.
  std::function<perfmodel::Budget(int pid)> read_budget;
  // Leases::Dependencies::confine. Without it clients get no leases.
  std::function<void(uint64_t client, int pid, const std::vector<int>& units)> confine = {};
  // Whether that process is stopped (SIGSTOP, a debugger) or frozen; may be empty.
  std::function<bool(int pid)> is_stopped = {};
  // Processor time of all threads of a process so far; nullopt: it cannot be told. Without it
  // nobody is seen to wait.
  std::function<std::optional<std::chrono::milliseconds>(int pid)> busy_time = {};
  // Leases::Dependencies::read_load.
  std::function<LoadReading(const std::vector<int>& pids)> read_load = {};
  // Calls it when what is at hand is dealt with: many who come or go are decided about once.
  std::function<void(std::function<void()>)> later = {};
  // Outlives the manager. Without it no command outlives an attachment.
  PersistedCommands* persisted_commands = nullptr;
  // The cpuset of a client's process is another one now: the kernel may have changed its masks.
  std::function<void(uint64_t client, const std::vector<int>& cpuset)> note_cpuset = {};
  // Leases::Dependencies::held_before.
  RestartReservations::Read held_before = {};
  // What happens to leases, a line each (LeaseLog); without them nothing is written.
  LeaseLog::Write write_log = {};
  LeaseLog::WriteMove write_move = {};
  // For how long these threads of a process have run or waited for a processor so far, all
  // together; nullopt: it cannot be told. Without it nobody shares the cores by time (TimeSharing).
  std::function<std::optional<std::chrono::nanoseconds>(int pid, const std::vector<int>& threads)>
      processor_demand = {};
};

// Of one client, for people.
struct LeaseStatus {
  bool detached = false;  // it has no lease because of a command
  // Why it has none for now, as half a sentence with the time; empty where it may have one.
  std::string shares_time;
  std::vector<std::string> pending;  // each PendingCommand as text
};

class LeaseManager {
 public:
  // The machine, the clocks and the history outlive this.
  LeaseManager(const perfmodel::Machine& machine, const Clocks& clocks, ProgramHistory& history,
               LeaseDependencies dependencies);

  // What a process may use that is about to be a client.
  perfmodel::Budget budget_of(const AttachRequest& attach_request) const;
  // With that budget. The client outlives its record here.
  void arrive(Client& client, perfmodel::Budget at_attach);
  // Its process is ending: its cores are free. What its steps took is kept for the next run.
  // `forgets`: it is gone.
  void release(uint64_t id, bool forgets);

  // Reads the budgets again, and who is stopped: of the next kBudgetsATurn clients, and after the
  // last of them what follows from all. To be called every budget_turns_every() while there are
  // clients.
  void refresh_budgets();
  // Whose cores can be lent meanwhile, and who wants them back; to be called again after
  // next_look(). nullopt: there is nobody to lend to.
  void detect_idle();
  std::optional<std::chrono::milliseconds> next_look() const;
  base::Status apply(const LeaseCommand& command);
  LaunchBeside launch_beside(const perfmodel::LaunchFacts& facts, const Newcomer& newcomer);

  LeaseStatus status(uint64_t id) const;
  const perfmodel::Budget& budget() const { return budget_; }
  const Leases* leases() const { return leases_ ? &*leases_ : nullptr; }  // null: none are given
  const LeaseHistory& history() const { return log_.history(); }

 private:
  void give_lease(ManagedClient& one);
  void free_squeezed();
  void decide();
  void decide_soon();
  void share_by_time();
  void begin_time_sharing(ManagedClient& one, const std::string& why, bool slow);
  base::Status carry_out(const LeaseCommand& command);
  base::Status attach_again(ManagedClient& one, const LeaseCommand& command);

  const perfmodel::Machine& machine_;
  const Clocks& clocks_;
  ProgramHistory& programs_;
  LeaseDependencies dependencies_;
  perfmodel::Budget budget_;
  std::vector<int> bound_within_;  // its units when it was last asked who is bound where
  uint64_t budget_read_ = 0;       // of whom last in this round
  ManagedClients clients_;
  CoRunnerLoadWatch co_runner_load_;
  std::optional<Leases> leases_;
  TimeSharing sharing_;
  ExpectedArrivals expected_;
  LeaseCommands commands_;
  LeaseLog log_;
  bool will_decide_ = false;
};

}  // namespace optile::daemon
