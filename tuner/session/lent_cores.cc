#include "tuner/session/lent_cores.h"

#include <utility>

namespace optile::tuner {

bool LentCores::set(bool lent, std::optional<StoredPlan> plan) {
  const bool same_plan = plan.has_value() == plan_.has_value() &&
                         (!plan || plan->default_width == plan_->default_width);
  if (same_plan && lent == lent_) return false;
  lent_ = lent;
  plan_ = std::move(plan);
  return true;
}

bool LentCores::serves(const StoredPlan& plan, const StepModel& step) const {
  return environment_.options().may_change_widths &&
         plan.default_width > environment_.default_width() &&
         plan.binding == perfmodel::Binding::kNone && step.fingerprint() == plan.step_fingerprint &&
         step.marker().place == plan.marker.place;
}

void LentCores::add_to(PlanDraft& draft) const {
  for (const StoredEntry& entry : plan_->entries) {
    if (entry.rule == Rule::kLeftAlone || environment_.observes_only(entry.place.key)) {
      draft.entries.push_back({entry.place, 0, Rule::kLeftAlone, true, {}, {}});
    } else if (entry.width > 0 && entry.width < plan_->default_width &&
               !undone_ops_.contains(entry.place.key)) {
      draft.entries.push_back({entry.place, entry.width, Rule::kReplayed, false, {}, {}});
    }
  }
}

}  // namespace optile::tuner
