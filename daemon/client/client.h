// One attached process: reads its region, feeds its tuning session, publishes the plans that come
// out. Owned by the controller; the daemon's one thread. No descriptor beyond the mapped memory, no
// clock but the one passed in.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "daemon/client/client_reader.h"
#include "daemon/client/client_view.h"
#include "daemon/client/configuration_space.h"
#include "daemon/client/drain_pace.h"
#include "daemon/client/main_issuer.h"
#include "daemon/client/plan_page_writer.h"
#include "daemon/client/step_rate.h"
#include "daemon/client/tick_clock.h"
#include "daemon/leases/co_runner_load.h"
#include "daemon/store/store.h"
#include "daemon/transport/attach_request.h"
#include "daemon/transport/client_memory.h"
#include "tuner/session/session.h"

namespace optile::daemon {

class Client {
 public:
  struct Dependencies {
    const Clocks* clocks = nullptr;
    // Plan of an earlier run under this runtime and default width (0 = not known yet).
    std::function<std::optional<FoundPlan>(int runtime, int default_width)> find_plan;
    bool left_alone = false;                // by hand, in an earlier run
    std::vector<HangRecord> hangs = {};     // of regions of this program, in earlier runs
    std::function<bool()> is_stopped = {};  // its process, at this moment; may be empty
  };

  Client(uint64_t id, AttachRequest attach_request, ClientMemory memory, ConfigurationSpace cases,
         Dependencies dependencies);

  // Reads what is there, publishes what follows from it. Returns the settled plan, once.
  std::optional<tuner::Session::Settled> drain();
  // What the store holds of this program's plan is wrong: true once.
  bool take_forgotten() { return session_ != nullptr && session_->take_forgotten(); }
  // Regions that are found to hang; each once.
  std::vector<HangRecord> take_hangs() { return std::exchange(fresh_hangs_, {}); }
  // Another program came or left.
  void on_surroundings_changed();
  // By hand, for the rest of the run; 0 = every op.
  void undo(uint64_t key);
  // Counters would be read now, were it its turn; allow_counting() is that, once.
  bool asks_to_count() const { return session_ != nullptr && session_->asks_to_count(); }
  void allow_counting();
  // Budget or lease changed. One that repeats its plan keeps all of its widths; only the units that
  // its threads are bound to follow.
  void set_cases(ConfigurationSpace cases);
  // So many cores more for a while, which others do not use: for what runs at its default width.
  // Nothing is tuned for them.
  void set_lent(int cores);
  int lent() const { return lent_; }
  // While its ops are counted it does not rest.
  void set_heard(bool heard);
  uint64_t progress() const { return reader_.progress(); }  // ops begun so far, without rests
  bool may_rest() const { return may_rest_; }
  ThreadBinding binding(int tid) const { return reader_.binding(tid); }
  std::vector<int> issuing_threads(std::size_t most) const { return reader_.issuing_threads(most); }
  uint32_t steps() const { return reader_.steps(); }  // begun so far, as the client tells
  tuner::SessionSummary session_summary() const;
  int default_width() const {
    return default_width_;
  }  // the program's, whatever bounds it; 0 = not known
  // The user wants one width and no other, those of a stored plan again, or the bits of an
  // untouched run.
  bool keeps_widths() const {
    return is_fixed_by_user() || attach_request_.as_untuned ||
           attach_request_.mode == OPTILE_MODE_FREEZE;
  }
  // Threads of its regions where those are all that it has, or of its widest ops where it keeps its
  // widths: no lease changes their number. 0 = none seen, or it has ops or regions that are
  // steered.
  int fixed_team() const;
  // The same, or threads of its own regions where it has ops that follow its lease besides, and
  // spends a good part of its time in those regions.
  int widest_team() const;
  // How long its idle OpenMP threads may spin, in milliseconds; nullopt: as it has it.
  void set_wait_cap(std::optional<uint32_t> most_ms) {
    wait_cap_ms_ = most_ms;
    writer_.set_wait_cap(most_ms);
  }
  // What the masks of its threads were set to; none: to nothing.
  void set_held_mask(const std::vector<int>& units) { writer_.set_held_mask(units); }
  // Predicted; empty while nothing is known of its steps.
  std::vector<double> step_seconds_by_cores(int most) const;

  // On its lease it was far slower than predicted, so that was taken back.
  void note_slow_lease(std::string text) {
    ++slow_leases_;
    latest_slow_lease_ = std::move(text);
  }

  // The process ends: nothing will come any more but what lies in its rings.
  void set_dying() { dying_ = true; }
  // Whether the process is stopped at this moment; it counts once no op has begun since the last
  // call.
  void set_process_stopped(bool stopped);

  // At this moment: nobody wants it left alone, and it is not stopped.
  bool may_be_changed() const { return shared_cores() != 0 && !stopped_ && !dying_; }

  // Some word of ours has set the masks of its threads.
  bool was_bound() const { return was_bound_; }
  DrainPace::Want wanted_events() const;
  double ring_fill() const { return reader_.fill(); }
  // What a run or a settled plan of this client is stored under, but for the machine.
  Conditions conditions() const;
  // The run as the store keeps it; nullopt where no whole step was seen, or some with fewer cores.
  std::optional<RunRecord> run_record() const;
  CoRunnerLoad& co_runner_load() { return co_runner_load_; }
  ClientView view(tuner::Detail detail = tuner::Detail::kWhole) const;
  uint64_t id() const { return id_; }
  const AttachRequest& attach_request() const { return attach_request_; }

 private:
  bool start(const ClientHeader& header);
  void follow(const ClientHeader& header);
  void follow_regions();
  void feed(const ClientHeader& header);
  void look_for_hangs();
  void leave_hung(perfmodel::OpDescription op, int width);
  void leave_hung_regions(tuner::PlanDraft& draft) const;
  bool is_left_alone(const perfmodel::OpDescription& op) const;
  void keep_bits(tuner::PlanDraft& draft) const;
  bool tunes_a_region() const;
  void publish();
  bool is_fixed_by_user() const;
  bool has_fewer_cores() const;
  int default_width_cap() const;  // 0 = none
  int shared_cores() const;
  int bounded(int default_width) const;
  int page_cap() const;  // the same with what is lent
  const std::vector<perfmodel::Configuration>& admitted(uint32_t fallbacks) const;

  uint64_t id_;
  AttachRequest attach_request_;
  ClientMemory memory_;
  ConfigurationSpace cases_;
  int cores_at_attach_;
  int cores_;  // now, by budget or lease
  Dependencies dependencies_;
  int64_t attached_at_;
  ClientReader reader_;
  PlanPageWriter writer_;
  MainIssuer main_issuer_;
  std::optional<TickClock> clock_;
  bool clock_refused_ = false;
  std::optional<FoundPlan> stored_;
  std::unique_ptr<tuner::Session> session_;
  std::vector<uint8_t> schedule_lengths_;  // of plan i at index i - 1
  std::size_t entries_left_out_ = 0;
  Trials trials_in_force_;
  bool trials_withheld_ = false;
  bool undone_ = false;  // all of it, by hand
  bool was_bound_ = false;
  DrainPace::Want wanted_events_ = DrainPace::Want::kProfiling;  // by the last plan
  bool may_rest_ = false;                                        // by the page in force
  int plan_cap_ = 0;  // the plan's one width for every op; 0 = it has several, or none
  perfmodel::Runtime runtime_ = perfmodel::Runtime::kUnknown;
  int default_width_ = 0, launched_width_ = 0;  // the latter: the session, as its own
  uint32_t default_width_source_;
  uint32_t fallbacks_ = 0;
  perfmodel::Counts counts_;
  bool dying_ = false, stopped_ = false, found_stopped_ = false, heard_ = false;
  perfmodel::Nanoseconds looked_at_{0}, went_on_at_{0};  // for hangs; last seen stopped, or we were
  int lent_ = 0, region_width_ = 0;
  std::optional<uint32_t> wait_cap_ms_;
  bool has_ops_ = false;  // some that are more than a region of its own
  bool tunes_regions_ = false;
  std::map<uint64_t, HangRecord> hangs_;  // by key, of earlier runs too
  std::vector<HangRecord> fresh_hangs_;
  bool narrowed_ = false;  // by a lease or a budget, at some time
  uint64_t progress_looked_at_ = 0, slow_leases_ = 0;
  StepRate step_rate_;
  std::string latest_slow_lease_;
  CoRunnerLoad co_runner_load_;
};

}  // namespace optile::daemon
