// From a known step to widths that stay: which phase is at work, and what follows when it is done.
// Exploration → CandidateComparison → PlanInForce under a RegressionGuard, which may begin all of
// it again; a stored plan that fits is in force at once. Owned by the session; one thread.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tuner/session/candidate_comparison.h"
#include "tuner/session/client_record.h"
#include "tuner/session/exploration.h"
#include "tuner/session/lent_cores.h"
#include "tuner/session/plan_in_force.h"
#include "tuner/session/regression_guard.h"
#include "tuner/session/session_view.h"

namespace optile::tuner {

class WidthTuning {
 public:
  explicit WidthTuning(ClientRecord& client);

  Phase phase() const { return phase_; }
  const std::string& decision() const { return decision_; }
  const CandidateComparison& comparison() const { return comparison_; }
  const PlanInForce& plan() const { return plan_; }
  const RegressionGuard& guard() const { return guard_; }
  const LentCores& lent() const { return lent_; }

  // The step: another one is known; none is found; the known one was a loop; it may be another.
  void on_step_found();
  void on_step_not_found();
  void leave_loop();
  void begin_watch();
  // The environment is another now.
  void on_default_width_changed();
  void on_cases_changed();
  void on_bounds_changed(const std::optional<StoredPlan>& stored);
  void on_op_left_alone(uint64_t key);
  void on_co_runners_changed();
  void on_surroundings_changed();
  void set_lent(bool lent, std::optional<StoredPlan> known);

  // The page: whether it has a schedule, what it says, and that it was run.
  bool runs_schedule() const;
  void add_to(PlanDraft& draft, bool enough_steps) const;
  std::vector<PageColumn> columns() const;
  void on_plan_step(const StepEvent& event);
  void on_scheduled_step(const StepEvent& event);
  void on_unwatched_steps(uint32_t steps) { guard_.on_unwatched_steps(steps); }
  void on_page_ended();

  void on_entry_disabled(const perfmodel::OpPlace& place, perfmodel::Nanoseconds under_entry,
                         perfmodel::Nanoseconds at_default_width);
  // `said`: the user wants it so from the start, and what is stored is none the worse for it.
  void undo(uint64_t key, const char* said);
  bool take_settled();
  bool take_forgotten();

 private:
  void start();
  void restart();
  void explore();
  void compare();
  void settle(Candidate candidate, std::string decision);
  void keep_default_widths(std::string decision);
  bool replay_under(const std::optional<StoredPlan>& stored);
  void make_guard_page();
  void roll_back();
  StepModel* step_in_force();

  ClientRecord& client_;
  Exploration exploration_;
  CandidateComparison comparison_;
  PlanInForce plan_;
  RegressionGuard guard_;
  LentCores lent_;
  Phase phase_ = Phase::kRecognising;
  std::string decision_;
  bool settled_ = false;          // not told to the store yet
  bool forget_ = false;           // the stored plan
  const char* undone_ = nullptr;  // for the rest of the run: why, for people
};

}  // namespace optile::tuner
