// What a session does so that a plan in force keeps paying: pages of control steps, rollbacks, and
// the word when exploring again is worth it. Owned by the session; one thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tuner/session/client_environment.h"
#include "tuner/session/plan_in_force.h"
#include "tuner/session/plan_pages.h"
#include "tuner/session/session_view.h"
#include "tuner/statistics/regression_detector.h"

namespace optile::tuner {

class RegressionGuard {
 public:
  explicit RegressionGuard(const ClientEnvironment& environment) : environment_(environment) {}

  // A candidate won: seconds of its step as compared, and of one at the program's default widths;
  // 0 = not known.
  void begin(const Candidate& candidate, double promised, double own);
  // A stored plan is in force.
  void begin(const PlanInForce& replay);
  void end();

  // Every whole step under the plan, and those of a page of controls.
  void on_step(const StepEvent& event);
  void on_unsampled_steps(uint32_t steps) { detector_.on_unsampled_steps(steps); }
  void on_surroundings_changed() { detector_.on_surroundings_changed(); }

  // Control steps among others, if any are due. True: there is a page now.
  bool make_page();
  // True: the plan has lost.
  bool close_page();
  // It is not run to its end.
  void drop_page();
  bool has_page() const { return !page_.empty(); }
  void add_to(PlanDraft& draft) const;
  std::vector<PageColumn> columns() const;

  // The plan lost in step `step`; nothing is guarded any more. Why, for people.
  std::string roll_back(uint32_t step);
  // A single op did.
  void remember(Rollback rollback);
  // A step passed in which nothing but the plan was run. `for_more_cores`: the plan was made for
  // more than there are; `replayed`: it was stored. True: exploring again is due.
  bool earns_exploration(double seconds, bool for_more_cores, bool replayed);
  // The plan in force was chosen without one: it is due although the plan pays.
  void ask_exploration() { refines_ = true; }
  void drop_exploration() { explore_again_ = refines_ = false; }
  void spend_credit() { explore_credit_ = 0; }

  bool has_rolled_back() const { return !rollbacks_.empty(); }
  GuardView view() const;

 private:
  const ClientEnvironment& environment_;
  RegressionDetector detector_;
  std::vector<bool> page_;  // scheduled steps of the present page: true = default widths
  std::vector<Rollback> rollbacks_;
  bool explore_again_ = false;  // once it can be afforded
  bool refines_ = false;        // as well, beside a plan in force
  double explored_at_level_ = 1;
  double explore_credit_ = 0;  // seconds
};

}  // namespace optile::tuner
