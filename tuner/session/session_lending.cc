// While cores of a neighbour that waits are lent to the program.
#include <algorithm>
#include <utility>

#include "tuner/session/session_state.h"

namespace optile::tuner {

void Session::State::set_lent(bool lent, std::optional<StoredPlan> known) {
  std::optional<StoredPlan> plan =
      lent && known && serves(*known) ? std::move(known) : std::nullopt;
  const bool same_plan = plan.has_value() == lent_plan_.has_value() &&
                         (!plan || plan->default_width == lent_plan_->default_width);
  if (same_plan && lent == lent_) return;
  lent_ = lent;
  lent_plan_ = std::move(plan);
  on_page_bounds_changed();
  if (!lent || guard_page_.empty()) return;
  guard_page_.clear();
  guard_.drop_page();
}

// It is about the present step, and sets nothing but widths.
bool Session::State::serves(const StoredPlan& plan) const {
  return model_ != nullptr && undone_ == nullptr && options_.may_change_widths &&
         plan.default_width > default_width_ && plan.binding == perfmodel::Binding::kNone &&
         model_->fingerprint() == plan.step_fingerprint &&
         model_->marker().place == plan.marker.place;
}

// As wide as that plan has them. None has a time to be held against: a neighbour that wakes makes
// every op slower for a moment.
void Session::State::add_lent_entries(PlanDraft& draft) const {
  for (const StoredEntry& entry : lent_plan_->entries) {
    const auto known = ops_.find(entry.place.key);
    const bool observed = known != ops_.end() && known->second.observed_only();
    if (entry.rule == Rule::kLeftAlone || observed) {
      draft.entries.push_back({entry.place, 0, Rule::kLeftAlone, true, {}, {}});
    } else if (entry.width > 0 && entry.width < lent_plan_->default_width &&
               !undone_ops_.contains(entry.place.key)) {
      draft.entries.push_back({entry.place, entry.width, Rule::kReplayed, false, {}, {}});
    }
  }
}

bool Session::State::has_wide_ops() const {
  if (replay_) {
    return replay_->binding == perfmodel::Binding::kNone &&
           std::any_of(replay_->entries.begin(), replay_->entries.end(),
                       [this](const StoredEntry& entry) { return width_of(entry) == 0; });
  }
  if (in_force_.binding != perfmodel::Binding::kNone) return false;
  if (in_force_.plan.widths.empty()) return true;
  return std::any_of(in_force_.plan.widths.begin(), in_force_.plan.widths.end(),
                     [this](int width) { return width >= default_width_; });
}

}  // namespace optile::tuner
