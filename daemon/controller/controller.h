// All clients of a daemon: arrivals, departures, periodic reading, what goes to the store. The
// clock comes in, there is no descriptor and no wait here. The daemon's one thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "daemon/client/drain_pace.h"
#include "daemon/controller/client_census.h"
#include "daemon/controller/client_place.h"
#include "daemon/controller/controller_dependencies.h"
#include "daemon/controller/counting_turns.h"
#include "daemon/controller/found_run.h"
#include "daemon/leases/client_commands.h"
#include "daemon/leases/expected_arrivals.h"
#include "daemon/leases/lease_history.h"
#include "daemon/leases/leases.h"
#include "daemon/leases/persisted_commands.h"
#include "daemon/leases/time_sharing.h"
#include "daemon/leases/user_bounds.h"
#include "daemon/process/thread_masks.h"
#include "daemon/store/store.h"
#include "daemon/store/store_batches.h"
#include "daemon/support/client_limits.h"
#include "perfmodel/machine/budget.h"
#include "perfmodel/machine/machine.h"
#include "perfmodel/profile/launch_plan.h"

namespace optile::daemon {

class Controller {
 public:
  using Dependencies = ControllerDependencies;
  explicit Controller(Dependencies dependencies);

  // Id of the new client; kUnavailable when full. Its budget is read from its pid (0 = ours).
  base::Result<uint64_t> arrive(AttachRequest attach_request, ClientMemory memory);
  // Its connection is gone: what is left in its memory is read, then it is only remembered.
  void depart(uint64_t id);
  // Its process is ending; the connection will be gone when its memory is. Until then it is listed
  // as dying. Unknown ids are let pass: it may have left already.
  void dying(uint64_t id);

  // Reads every client. To be called again after next_drain() while there are clients.
  void drain();
  std::chrono::milliseconds next_drain() const { return drain_pace_.period(); }
  // Reads the budgets again, and who is stopped: of the next kBudgetsATurn clients. To be called
  // every budget_turns_every() while there are clients.
  void refresh_budgets();
  // Whose cores can be lent meanwhile, and who wants them back; to be called again after
  // next_look(). nullopt: there is nobody to lend to.
  void detect_idle();
  std::optional<std::chrono::milliseconds> next_look() const;
  // Writes what is due; `now`: also what is not.
  void flush(bool now) { batches_.flush(now); }
  // Until something is due or what could not be written is tried again; nullopt: nothing waits.
  std::optional<std::chrono::milliseconds> next_write() const { return batches_.next_write(); }

  using UndoRequest = daemon::UndoRequest;
  struct Undone {
    std::vector<ClientView> clients;
    std::size_t ops = 0;  // places whose width was changed and is no longer
  };
  base::Result<Undone> undo(const UndoRequest& request);

  using LeaseCommand = daemon::LeaseCommand;
  base::Status change_lease(const LeaseCommand& word);
  void note_mask(uint64_t id, const std::vector<int>& units);  // see Client::set_held_mask()
  ThreadBinding binding(uint64_t id, int tid) const;           // see ClientReader
  bool is_detached(uint64_t id) const;  // it has no lease because somebody said so
  // Why it has none for now, as half a sentence with the time; empty where it may have one.
  std::string time_sharing_text(uint64_t id) const;
  std::vector<std::string> unkept(uint64_t id) const;  // each PendingCommand as text
  perfmodel::LaunchPlan launch_plan(const perfmodel::LaunchFacts&, const ProgramKey&,
                                    unsigned uid = 0);
  LaunchBeside launch_beside(const perfmodel::LaunchFacts&, const Newcomer&);
  std::optional<bool> was_steered(const ProgramKey& program, unsigned uid);
  std::optional<FoundPlan> stored_plan(  // that an earlier run found under that launch plan
      const ProgramKey& program, const std::string& launch_plan, unsigned uid = 0);

  struct Tally {  // since the daemon began
    uint64_t attached = 0;
    uint64_t store_writes = 0;  // failed ones too: what they held is found nevertheless
  };
  Tally tally() const { return {attached_, batches_.writes()}; }
  std::size_t pending_records() const { return batches_.pending(); }  // waiting to be written

  std::size_t client_count() const { return clients_.size(); }
  const perfmodel::Machine& machine() const { return machine_; }
  const perfmodel::Budget& budget() const { return budget_; }
  const Leases* leases() const { return leases_ ? &*leases_ : nullptr; }  // null: none are given
  const LeaseHistory& lease_history() const { return lease_history_; }
  Store& store() { return *store_; }
  Store* store_of(unsigned uid) const { return store_of_ ? store_of_(uid) : store_; }
  Store* store_to_read(unsigned uid);  // with what those who departed have left
  int64_t unix_seconds() const { return clocks_.unix_seconds(); }

  std::vector<ClientView> attached(tuner::Detail = tuner::Detail::kWhole) const;  // by id
  std::vector<ClientView> views() const;  // the same, then the remembered ones, newest first
  std::optional<ClientView> view(uint64_t id) const;
  // Of all processes of that run (of one user) the one that spent the most time in steps.
  using Run = FoundRun;
  Run find_run(const std::string& run_id, std::optional<unsigned> user = std::nullopt) const;
  // Runs of the same program, newest first.
  std::vector<RunRecord> earlier_runs(const ClientView& client);

 private:
  using Place = ClientPlace;
  void bind(uint64_t id, const Place& place);
  void refresh_budget(uint64_t id, Place& place);
  perfmodel::Budget budget_now(const Place& place) const;
  perfmodel::Budget budget_at_start(const AttachRequest& attach_request) const;
  perfmodel::Budget leased(const Place& place) const;
  std::optional<std::vector<int>> binding_at_start(const perfmodel::Budget& at_attach) const;
  void lease_to(uint64_t id);
  std::vector<LendingTrials::Worker> workers() const;
  base::Status check_bound(const LeaseCommand& word) const;
  void enforce_quota();
  void reapply(uint64_t id);
  void retry_pending();
  base::Status carry_out(const LeaseCommand& word);
  base::Status attach_again(const LeaseCommand& word);
  void keep(const LeaseCommand& word);
  void take_lease(Place& place, Leases::Granted granted);
  void log_lease(uint64_t client, const std::string& text);
  void tell_of_move(uint64_t client, const std::string& text, bool loan);
  void publish_demands();
  void tell_demand(uint64_t id, const Place& place);
  void place_newcomers();
  void tell_demand_of_team(uint64_t id, Place& place);
  std::optional<uint32_t> wait_cap(const Place& place) const;
  void publish_co_runners(Place& place) const;
  void decide_leases();
  bool end_lonely_wait();
  void decide_leases_soon();
  void look_for_time_sharing();
  std::vector<TimeSharing::Party> sharing_parties() const;
  void share_time(const TimeSharing::Change& change);
  bool someone_works() const;
  void recall_lending(uint64_t id);
  void recall_curve(uint64_t id);
  void keep_curve(uint64_t id);
  std::chrono::milliseconds since_start() const;
  base::Status room_for(const AttachRequest& attach_request) const;
  void remember(ClientView view);
  void settle(const Client& client, tuner::Session::Settled settled);
  void follow(Client& client);
  Conditions on_this_machine(Conditions conditions) const;

  perfmodel::Machine machine_;
  Store* store_;
  std::function<Store*(unsigned uid)> store_of_;
  Clocks clocks_;
  std::function<perfmodel::Budget(int pid)> read_budget_;
  std::function<bool(int pid)> is_stopped_;
  std::function<void(uint64_t client, const std::vector<int>& cpuset)> note_cpuset_;
  std::function<void(std::function<void()>)> later_;
  bool will_decide_ = false;
  std::function<std::optional<std::chrono::milliseconds>(int pid)> busy_time_;
  std::function<std::optional<std::chrono::nanoseconds>(int, const std::vector<int>&)> demand_;
  perfmodel::Budget budget_;
  std::vector<int> bound_within_;  // its units when it was last asked who is bound where
  uint64_t last_id_ = 0, attached_ = 0;
  std::map<uint64_t, Place> clients_;
  ClientCensus client_census_;
  CoRunnerLoadWatch co_runner_load_;
  CountingTurns counting_;
  uint64_t budget_read_ = 0;  // of whom last in this round
  std::optional<Leases> leases_;
  TimeSharing sharing_;
  LeaseHistory lease_history_;
  ExpectedArrivals expected_;
  UserBounds bounds_;
  PersistedCommands* words_;
  std::function<void(const std::string& line)> say_;                         // never empty
  std::function<void(uint64_t client, const std::string& text)> tell_move_;  // likewise
  std::deque<ClientView> finished_;                                          // newest first
  std::size_t finished_ops_ = 0, max_clients_;                               // of all of them
  DrainPace drain_pace_;
  StoreBatches batches_;
};

}  // namespace optile::daemon
