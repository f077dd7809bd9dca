// From a known step to widths that stay: which phase is at work, and what follows when it is done.
// Exploration → CandidateComparison → PlanInForce under a RegressionGuard, which may begin all of
// it again; a stored plan that fits is in force at once. Where a framework runs several ops at
// once, caps are compared first, and one that wins is in force before ops are explored. Owned by
// the session; one thread.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tuner/session/candidate_comparison.h"
#include "tuner/session/client_record.h"
#include "tuner/session/exploration.h"
#include "tuner/session/in_force.h"

namespace optile::tuner {

class WidthTuning {
 public:
  // A stored plan is in force from the first op on; the sequence is verified while it runs.
  WidthTuning(ClientRecord& client, InForce& in_force);

  const CandidateComparison& comparison() const { return comparison_; }

  // The step: another one is known; the known one was a loop; it may be another.
  void on_step_found();
  void leave_loop();
  void begin_watch();
  // The environment is another now.
  void on_default_width_changed();
  void on_cases_changed();
  void on_bounds_changed(const std::optional<StoredPlan>& stored);
  void on_op_left_alone(uint64_t key);
  void on_co_runners_changed();

  // A whole step under the plan, or in a column of the present page; and the end of that page.
  void on_step(const StepEvent& event);
  void on_page_ended();
  // The program's default widths for the rest of the run. Why, for people.
  void undo(const char* why);

  void add_to(PlanDraft& draft, bool enough_steps) const;
  std::vector<PageColumn> columns() const;

 private:
  void start();
  void restart();
  void explore();
  void compare();
  void settle(Candidate candidate, std::string decision);
  void keep_default_widths(std::string decision);

  ClientRecord& client_;
  InForce& in_force_;
  Exploration exploration_;
  CandidateComparison comparison_;
};

}  // namespace optile::tuner
