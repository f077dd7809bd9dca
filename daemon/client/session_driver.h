// Drives the tuning session of one client: hands it what the client has done, bounds it by what the
// client may use, and publishes the plans that come out. The daemon's one thread; no clock but the
// one passed in.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "daemon/client/client_reader.h"
#include "daemon/client/client_view.h"
#include "daemon/client/core_allotment.h"
#include "daemon/client/hang_detector.h"
#include "daemon/client/main_issuer.h"
#include "daemon/client/plan_publisher.h"
#include "daemon/client/tick_clock.h"
#include "tuner/session/session.h"

namespace optile::daemon {

class SessionDriver {
 public:
  struct Dependencies {
    // Plan of an earlier run under this runtime and default width (0 = not known yet).
    std::function<std::optional<FoundPlan>(int runtime, int default_width)> find_plan;
    bool left_alone = false;                // by hand, in an earlier run
    std::vector<HangRecord> hangs = {};     // of regions of this program, in earlier runs
    std::function<bool()> is_stopped = {};  // its process, at this moment; may be empty
  };

  // Request and reader outlive it.
  SessionDriver(const AttachRequest& attach_request, ClientReader& reader,
                optile_plan_region* plans, ConfigurationSpace space, Dependencies dependencies);

  // The session begins with the first sight of a header whose clock can be used; the clock outlives
  // the driver. Until then the rest has no effect but on what the session will begin with.
  void start(const ClientHeader& header, const TickClock& clock, uint64_t seed);
  // What the header says may have changed since the last time, and new records of ops.
  void follow(const ClientHeader& header);
  void feed(const ClientHeader& header, const std::vector<ClientEvent>& events);
  // Regions that are found to hang, each once; they are left alone from the next page on.
  std::vector<HangRecord> find_hangs(perfmodel::Nanoseconds now, int64_t unix_seconds,
                                     bool stopped);
  // Publishes the session's plan where it has a new one.
  void publish();

  // By hand, for the rest of the run; 0 = every op.
  void undo(uint64_t key);
  // Counters are read from now on, once; asks_to_count() of the session.
  void allow_counting();
  // Budget or lease changed. One that repeats its plan keeps all of its widths; only the units that
  // its threads are bound to follow.
  void set_space(ConfigurationSpace space);
  // So many cores more for a while, which others do not use: for what runs at its default width.
  // Nothing is tuned for them.
  void set_lent(int cores);
  // While its ops are counted its sampling is not paused.
  void set_observed(bool observed);

  // Null before start().
  tuner::Session* session() const { return session_.get(); }
  const CoreAllotment& allotment() const { return allotment_; }
  const PlanPublisher& plans() const { return plans_; }
  PlanPageWriter& page() { return plans_.page(); }
  perfmodel::Runtime runtime() const { return runtime_; }
  // Threads of its own regions where no plan sets their width; 0 = none seen.
  int untuned_region_width() const { return regions_.tuned ? 0 : regions_.width; }
  // Threads of its regions where those are all that it has, or of its widest ops where it keeps its
  // widths: no lease changes their number. 0 = none seen, or it has ops or regions that are
  // steered.
  int fixed_team() const;
  // Predicted; empty while nothing is known of its steps.
  std::vector<double> step_seconds_by_cores(int most) const;
  void describe(ClientView& view, tuner::Detail detail) const;

 private:
  void leave_hung(const HangRecord& hang);
  bool is_left_alone(const perfmodel::OpDescription& op) const;
  bool tunes_a_region() const;
  void add_ops();
  std::optional<tuner::StoredPlan> plan_for(int default_width) const;
  void republish();

  const AttachRequest& attach_request_;
  ClientReader& reader_;
  const TickClock* clock_ = nullptr;
  std::function<std::optional<FoundPlan>(int runtime, int default_width)> find_plan_;
  CoreAllotment allotment_;
  HangDetector hangs_;
  PlanPublisher plans_;
  MainIssuer main_issuer_;
  std::optional<FoundPlan> stored_;
  std::unique_ptr<tuner::Session> session_;
  perfmodel::Runtime runtime_ = perfmodel::Runtime::kUnknown;
  uint32_t fallbacks_ = 0;
  int session_width_ = 0;  // the default width as the session knows it
  bool observed_ = false;
  struct Regions {
    int width = 0;        // threads of the program's own
    bool tuned = false;   // some of them
    bool beside = false;  // ops that are more than a region of its own
  };
  Regions regions_;
};

}  // namespace optile::daemon
