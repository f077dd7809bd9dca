// The inside of a Session: one state machine, its code in session.cc (events), session_state.cc
// (phases and plan pages), session_exploring.cc (trials, planning, comparison), session_guard.cc
// (controls, rollback, undo), session_lending.cc (lent cores) and session_view.cc (what others may
// see). Only those include this.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "tuner/plan/candidate.h"
#include "tuner/plan/step_curve.h"
#include "tuner/plan/width_planner.h"
#include "tuner/search/trial_budget.h"
#include "tuner/search/trial_schedule.h"
#include "tuner/session/session.h"
#include "tuner/session/session_page.h"
#include "tuner/statistics/concurrency_detector.h"
#include "tuner/statistics/coverage.h"
#include "tuner/statistics/regression_detector.h"
#include "tuner/statistics/step_comparison.h"
#include "tuner/steps/period_detector.h"
#include "tuner/steps/step_model.h"

namespace optile::tuner {

// Steps under the plan in force that are watched before any is left out: enough for its figures.
inline constexpr uint64_t kHeardSteps = 12;

inline constexpr const char* kUndoneText =
    "undone by hand: every op runs at the program's default width";
inline constexpr const char* kSharedText =
    "several threads issue ops at the same time and share the cores: no widths are searched";

// What a curve was computed from, so that it is computed anew only when that changes: a quarter
// more samples, another phase of the search.
struct OpsCurve {
  const void* model = nullptr;
  Phase phase = Phase::kRecognising;
  uint64_t samples = 0;
  int default_width = 0;
  std::vector<double> seconds;
};

class Session::State {
 public:
  explicit State(SessionOptions options);

  // session.cc
  void set_runtime(perfmodel::Runtime runtime);
  void set_default_width(int width, bool bounded);
  void set_cases(std::vector<perfmodel::Configuration> cases, int cores);
  void set_bounds(std::vector<perfmodel::Configuration> cases, int cores, int default_width,
                  const std::optional<StoredPlan>& stored);
  void on_page_bounds_changed();
  void add_op(perfmodel::OpDescription op);
  void on_op(const OpEvent& event);
  void on_step(const StepEvent& event);
  void on_issuer_changed();
  void on_progress(uint64_t ops_begun, uint32_t steps_begun);
  void on_declared_steps(uint32_t steps) { declared_steps_ = steps; }
  bool asks_to_count() const { return options_.counting_waits && has_use_for_counts(); }
  void allow_counting();

  // session_state.cc
  std::optional<PlanDraft> take_plan(uint64_t number);

  // session_lending.cc
  void set_lent(bool lent, std::optional<StoredPlan> known);

  // session_guard.cc
  void on_surroundings_changed();
  void on_entry_disabled(const perfmodel::OpPlace& place, perfmodel::Nanoseconds under_entry,
                         perfmodel::Nanoseconds at_default_width);
  void undo(uint64_t key, const char* said = nullptr);
  bool take_forgotten();

  // session_view.cc
  std::optional<Settled> take_settled();
  SessionSummary session_summary() const;
  int width_of(const StoredEntry& entry) const;
  SessionView view(Detail detail) const;
  std::vector<double> step_seconds_by_cores(int most) const;
  std::vector<int> widths_seen(int most) const;
  std::vector<double> ops_by_cores(int most) const;

  const std::map<uint64_t, perfmodel::OpDescription>& ops() const { return ops_; }

 private:
  using Column = PageColumn;
  using Page = SessionPage;

  // session.cc
  void assume_switching_cost();
  void co_runners_changed();
  void watch_sequence(const OpEvent& event);
  void take_sample(const OpEvent& event);
  bool holds_a_change(const OpEvent& event) const;
  void note_page_progress(uint64_t plan, std::optional<int> column, bool step_ended);
  void count_step(const StepEvent& event);
  void count_scheduled_step(const StepEvent& event);
  void watch_for_another_step(const StepEvent& event);
  void rest_if_unsteered(bool rested);
  bool is_silent() const;
  void begin_watch();
  bool step_is_a_loop(const StepEvent& event);
  void look_for_a_longer_step();

  // session_state.cc
  void step_found();
  void count_steps_so_far();
  bool replay_fits() const;
  void begin_replay();
  bool replay_clipped() const;
  bool replay_under(const std::optional<StoredPlan>& stored);
  void start_tuning();
  void restart_exploring();
  void mark_left_alone();
  void settle(Candidate candidate, std::string decision);
  void page_ended();
  PlanDraft make_draft() const;
  void add_entries(PlanDraft& draft) const;
  void add_planned_entries(PlanDraft& draft) const;
  bool records_all() const;
  bool has_use_for_counts() const;
  bool steers_something() const;
  bool rests_unsteered() const;
  bool heard_enough() const;
  int width_in_force() const;
  bool may_rest(const PlanDraft& draft) const;
  void changed() { ++version_; }

  // session_guard.cc
  void guard_settled();
  void end_guard();
  void guard_replay();
  void guard_step(const StepEvent& event, std::optional<int> column);
  void guard_page_ended();
  void next_guard_page();
  void roll_back();
  void explore_again_if_due(double seconds);
  bool leave_entry(const perfmodel::OpPlace& place, Rule rule);

  // session_lending.cc
  bool serves(const StoredPlan& plan) const;
  void add_lent_entries(PlanDraft& draft) const;
  bool has_wide_ops() const;

  // session_exploring.cc
  void explore();
  void next_trial_page();
  void close_trial_page();
  void accept_changes(Site& site);
  bool trials_spent() const;
  TrialBudget::Seconds own_step() const;
  int affordable_blocks() const;
  TrialOptions trial_options() const;
  std::vector<perfmodel::Configuration> usable_cases() const;
  std::unique_ptr<Search> make_search(const Site& site) const;
  PlannerProblem problem_for(perfmodel::Binding binding) const;
  Candidate own_candidate() const;
  Candidate uniform_candidate() const;
  Candidate planned_candidate() const;
  void plan_and_compare();
  void begin_comparison(std::vector<Candidate> candidates);
  perfmodel::Nanoseconds listening_of_a_step() const;
  void next_comparison_page();
  void close_comparison_page();
  bool replan();
  void learn_switching_cost(std::size_t planned);

  perfmodel::Configuration own_case() const { return {default_width_, perfmodel::Binding::kNone}; }

  SessionOptions options_;
  std::map<uint64_t, perfmodel::OpDescription> ops_;
  perfmodel::Runtime runtime_ = perfmodel::Runtime::kUnknown;
  perfmodel::SwitchingCost cost_;
  int default_width_ = 0;  // 0 = not known yet
  bool bounded_ = false;   // from outside: the program's is wider
  Phase phase_ = Phase::kRecognising;
  PeriodDetector recogniser_;
  bool gave_up_ = false;        // no step found in kMostUnrecognised ops
  uint64_t unsteered_ops_ = 0;  // heard while nothing had a width that can be set
  std::unique_ptr<StepModel> model_;
  ConcurrencyDetector concurrency_;
  // Replay of a stored plan.
  std::optional<StoredPlan> replay_;  // in force, verified or not
  bool replay_verified_ = false;
  std::vector<StoredTime> known_times_;  // of earlier runs
  // The page being run.
  std::map<uint64_t, Page> pages_;            // the latest few, by number
  uint64_t number_ = 0;                       // of the latest page taken; 0 = none
  uint64_t version_ = 1, taken_version_ = 0;  // of what a draft is made from
  std::optional<PlanDraft> taken_;
  bool page_due_ = false;  // also where the draft is the one before: its schedule runs again
  bool column_seen_ = false, lent_ = false, after_odd_ = false;
  std::optional<StoredPlan> lent_plan_;  // in force while cores are lent
  // Exploring.
  TrialBudget budget_;
  TrialPage trial_;
  int trials_ = 0, explorations_ = 0, steps_without_column_ = 0;  // scheduled trials; of the page
  // Comparing.
  std::unique_ptr<StepComparison> comparison_;
  std::vector<Candidate> candidates_;
  std::vector<perfmodel::SampleSet> candidate_steps_;
  std::vector<int> comparison_page_;
  bool replanned_ = false;
  // Tuned.
  Candidate in_force_;
  RegressionDetector guard_;
  std::vector<bool> guard_page_;  // scheduled steps of the present page: true = default widths
  std::vector<Rollback> rollbacks_;
  bool forget_ = false;           // the stored plan
  const char* undone_ = nullptr;  // for the rest of the run: why, for people
  std::set<uint64_t> undone_ops_;
  bool explore_again_ = false;                         // once it can be afforded
  double explored_at_level_ = 1, explore_credit_ = 0;  // the latter in seconds
  std::optional<Settled> settled_;
  bool settled_ready_ = false, watching_ = false;  // events on: the step may be another now
  int foreign_steps_ = 0, foreign_needed_ = 0;
  uint64_t watch_limit_ = 0;                      // recogniser ops until the watch ends in vain
  uint64_t progress_ = 0, progress_at_step_ = 0;  // ops begun: last told, and as a step ended
  mutable OpsCurve ops_curve_;                    // as last computed
  double even_ops_ = 0, odd_ops_ = 0;             // fading; see step_is_a_loop()
  int loops_found_ = 0, returns_ = 0;             // the latter: even steps right after odd ones
  // Totals.
  uint32_t steps_ = 0, steps_found_ = 0;  // the latter: that were others than the one before
  bool count_markers_ = true;             // a step counts when it begins, until step events come
  bool silent_before_ = false;            // op events have been off since attach
  uint64_t marker_since_ = 0;     // the first page with the present marker; older steps were others
  uint32_t unwatched_steps_ = 0;  // before the latest step event
  uint32_t latest_step_ = 0;      // number of that event's step
  bool may_have_rested_ = false;  // the client, since that event
  uint32_t steps_begun_ = 0, declared_steps_ = 0;  // the latter by the program itself, if any
  uint64_t samples_ = 0;
  uint32_t observed_steps_ = 0, counted_steps_ = 0;  // in observe mode; with counters read
  uint32_t sampled_steps_ = 0;
  double sampled_seconds_ = 0;
  Coverage coverage_;
  perfmodel::SampleSet own_steps_, control_steps_, uniform_steps_, tuned_steps_, trial_controls_;
  std::string decision_;
  int uniform_width_ = 0, team_before_ = 0;  // the latter: of the op before, to see a change
};

}  // namespace optile::tuner
