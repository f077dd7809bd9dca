// What the controller needs of the world around it: the machine, the store, clocks, and what is
// read and set of processes. Made by the daemon; tests hand in their own.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "daemon/client/client.h"
#include "daemon/leases/external_load.h"
#include "daemon/leases/persisted_commands.h"
#include "daemon/process/restart_reservations.h"
#include "daemon/store/store.h"
#include "daemon/support/client_limits.h"
#include "perfmodel/machine/budget.h"
#include "perfmodel/machine/machine.h"

namespace optile::daemon {

struct ControllerDependencies {
  perfmodel::Machine machine;
  Store* store = nullptr;  // outlives the controller
  Clocks clocks;
  // Budget of a process; pid 0 = the daemon's own.
  std::function<perfmodel::Budget(int pid)> read_budget;
  // Leases::Dependencies::confine. Without it clients get no leases.
  std::function<void(uint64_t client, int pid, const std::vector<int>& units)> confine = {};
  // Whether that process is stopped (SIGSTOP, a debugger) or frozen; may be empty.
  std::function<bool(int pid)> is_stopped = {};
  // What happens to leases, a line each; without it nobody is told.
  std::function<void(const std::string& line)> say = {};
  // Processor time of all threads of a process so far; nullopt: it cannot be told. Without it
  // nobody is seen to wait.
  std::function<std::optional<std::chrono::milliseconds>(int pid)> busy_time = {};
  // Leases::Dependencies::read_load.
  std::function<LoadReading(const std::vector<int>& pids)> read_load = {};
  // Of each of several users; null: nothing is kept for that number. Without it there is one.
  std::function<Store*(unsigned uid)> store_of = {};
  // Calls it when what is at hand is dealt with: many who come or go are decided about once.
  std::function<void(std::function<void()>)> later = {};
  std::size_t max_clients = kMaxClients;
  // Outlives the controller. Without it nothing that was said outlives an attachment.
  PersistedCommands* words = nullptr;
  // The cpuset of a client's process is another one now: the kernel may have changed its masks.
  std::function<void(uint64_t client, const std::vector<int>& cpuset)> note_cpuset = {};
  // Leases::Dependencies::held_before.
  RestartReservations::Read held_before = {};
  // A lease moved; without it `say` hears of that too.
  std::function<void(uint64_t client, const std::string& text)> tell_move = {};
  // For how long these threads of a process have run or waited for a processor so far, all
  // together; nullopt: it cannot be told. Without it nobody shares the cores by time (TimeSharing).
  std::function<std::optional<std::chrono::nanoseconds>(int pid, const std::vector<int>& threads)>
      processor_demand = {};
};

}  // namespace optile::daemon
