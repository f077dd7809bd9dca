// The plan that a client runs under once it is tuned: the candidate that won, or a stored plan that
// is replayed instead. Owned by the session; one thread.
#pragma once

#include <optional>

#include "tuner/plan/candidate.h"
#include "tuner/plan/plan.h"
#include "tuner/session/client_environment.h"
#include "tuner/steps/step_model.h"

namespace optile::tuner {

class PlanInForce {
 public:
  explicit PlanInForce(const ClientEnvironment& environment) : environment_(environment) {}

  void choose(Candidate candidate) { chosen_ = std::move(candidate); }
  const Candidate& chosen() const { return chosen_; }

  // In force from now on, although its step is not verified.
  void replay(const StoredPlan& plan) { replay_ = plan; }
  // The present step is that of the stored plan, and its widths may be set: verified.
  bool verify_replay(const StepModel& step);
  // `stored` comes into force where it serves for the present default width; otherwise the one in
  // force stays if it fits. nullopt: none of them does. True: `stored`, exactly.
  std::optional<bool> replay_instead(const std::optional<StoredPlan>& stored,
                                     const StepModel& step);
  void drop_replay();
  const StoredPlan* replayed() const { return replay_ ? &*replay_ : nullptr; }
  bool replay_verified() const { return replay_verified_; }
  // It was made for more cores than the program may use now.
  bool replay_is_clipped() const;

  // The op at that place, or wherever its key occurs, runs at the program's default width from now
  // on. `step`: of the candidate; null where none is in force. True where it had a width.
  bool leave_entry(const perfmodel::OpPlace& place, Rule rule, const StepModel* step);

  // As it runs: one that is not below the present default width is left out of pages.
  int width_of(const StoredEntry& entry) const;
  perfmodel::Binding binding() const { return replay_ ? replay_->binding : chosen_.binding; }
  // The one width at which every op runs; 0 = there is none, or the step is not verified.
  int common_width() const;
  bool keeps_default_widths() const;
  // Some op is as wide as it may be, and bound to no core.
  bool has_wide_ops() const;
  void add_to(PlanDraft& draft, const StepModel* step) const;

 private:
  OpFlow flow_of_replay() const;
  int common_width_of_replay() const;
  bool replay_fits(const StepModel& step) const;
  void fill(const Site& site, std::size_t index, PlanEntry& entry) const;

  const ClientEnvironment& environment_;
  Candidate chosen_;
  std::optional<StoredPlan> replay_;
  bool replay_verified_ = false;
};

}  // namespace optile::tuner
