// One attached process: its memory, what is read from it, and what is known of the process; its
// session driver makes plans of that. Owned by the controller; the daemon's one thread. No
// descriptor beyond the mapped memory, no clock but the one passed in.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "daemon/client/client_reader.h"
#include "daemon/client/client_view.h"
#include "daemon/client/drain_pace.h"
#include "daemon/client/session_driver.h"
#include "daemon/client/step_rate.h"
#include "daemon/client/tick_clock.h"
#include "daemon/load/co_runner_load.h"
#include "daemon/store/store.h"
#include "daemon/transport/attach_request.h"
#include "daemon/transport/client_memory.h"

namespace optile::daemon {

class Client {
 public:
  // `clocks` outlive it.
  Client(uint64_t id, AttachRequest attach_request, ClientMemory memory, ConfigurationSpace space,
         const Clocks& clocks, SessionDriver::Dependencies dependencies);
  Client(const Client&) = delete;  // its session's driver refers to it
  Client& operator=(const Client&) = delete;

  // What a look at it has found for the store.
  struct Findings {
    std::optional<tuner::Session::Settled> settled;
    bool forgotten = false;         // what the store holds of its plan is wrong
    std::vector<HangRecord> hangs;  // regions that are found to hang
  };
  // Reads what is there, publishes what follows from it; each finding once.
  Findings drain();
  const ClientReader& reader() const { return reader_; }
  SessionDriver& tuning() { return tuning_; }
  const SessionDriver& tuning() const { return tuning_; }
  const PageInForce& plan() const { return tuning_.plans().in_force(); }
  DrainPace::Want wanted_events() const {
    const bool none_come = clock_refused_ || attach_request_.whole_program;
    return none_come ? DrainPace::Want::kFigures : plan().wanted_events;
  }

  // The process ends: nothing will come any more but what lies in its rings.
  void set_dying() { process_.dying = true; }
  // Whether the process is stopped at this moment; it counts once no op has begun since the last
  // call.
  void set_process_stopped(bool stopped);

  tuner::SessionSummary session_summary() const;
  // As SessionDriver::fixed_team(), or threads of its own regions where it has ops that follow its
  // lease besides, and spends a good part of its time in those regions.
  int widest_team() const;
  CoRunnerLoad& co_runner_load() { return co_runner_load_; }
  SlowLeases& slow_leases() { return slow_leases_; }
  // What a run or a settled plan of this client is stored under, but for the machine.
  Conditions conditions() const;
  // The run as the store keeps it; nullopt where no whole step was seen, or some with fewer cores.
  std::optional<RunRecord> run_record() const;
  ClientView view(tuner::Detail detail = tuner::Detail::kWhole) const;
  uint64_t id() const { return id_; }
  const AttachRequest& attach_request() const { return attach_request_; }

 private:
  bool start(const ClientHeader& header);

  uint64_t id_;
  AttachRequest attach_request_;
  ClientMemory memory_;
  const Clocks& clocks_;
  int64_t attached_at_;
  ClientReader reader_;
  std::optional<TickClock> clock_;
  SessionDriver tuning_;
  perfmodel::Counts counts_;
  bool clock_refused_ = false;
  struct Process {
    bool dying = false;
    bool stopped = false;
    uint64_t progress = 0;  // at the last look at who is stopped
  };
  Process process_;
  StepRate step_rate_;
  SlowLeases slow_leases_;
  CoRunnerLoad co_runner_load_;
};

}  // namespace optile::daemon
