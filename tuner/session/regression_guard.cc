#include "tuner/session/regression_guard.h"

#include <algorithm>
#include <utility>

namespace optile::tuner {
namespace {

constexpr uint64_t kContextOps = 8;        // after which an op's context no longer shows the start
constexpr double kExploreShare = 0.01;     // of the time, that exploring again may take
constexpr double kExplorePrice = 8;        // in steps: what an exploration may lose
constexpr double kNewStepLevel = 1.15;     // of the steps' time, since the last exploration
constexpr std::size_t kMostRollbacks = 2;  // of whole plans; then the client is left alone
constexpr std::size_t kMostRemembered = 64;

}  // namespace

void RegressionGuard::begin(const Candidate& candidate, double promised, double own) {
  end();
  if (!environment_.options().guard || !environment_.options().may_change_widths) return;
  if (changes_something(candidate, environment_.default_width())) {
    detector_.begin(promised, own, environment_.options().seed);
  } else {
    detector_.watch();
  }
  explored_at_level_ = 1;
}

void RegressionGuard::begin(const PlanInForce& replay) {
  if (!environment_.options().guard) return;
  const StoredPlan& plan = *replay.replayed();
  const bool changes = plan.binding != perfmodel::Binding::kNone ||
                       std::any_of(plan.entries.begin(), plan.entries.end(),
                                   [](const StoredEntry& entry) { return entry.width != 0; });
  if (changes) {
    // What was promised with more cores says nothing now.
    const double known = replay.replay_is_clipped() ? 0 : 1;
    detector_.begin(known * plan.tuned_step_seconds, known * plan.own_step_seconds,
                    environment_.options().seed);
  } else {
    detector_.watch();
  }
}

void RegressionGuard::end() {
  detector_.end();
  page_.clear();
  refines_ = false;
}

// The first one initialises, and until the context is what it is in every step, entries that have
// one are not met.
void RegressionGuard::on_step(const StepEvent& event) {
  if (event.column) {
    detector_.on_page_step(*event.column, seconds(event.duration));
    return;
  }
  const bool plan_is_met = event.step > 1 && uint64_t{event.step - 1} * event.ops > kContextOps;
  if (plan_is_met) detector_.on_plan_step(seconds(event.duration));
}

bool RegressionGuard::make_page() {
  page_ = detector_.page();
  return has_page();
}

bool RegressionGuard::close_page() {
  page_.clear();
  detector_.page_ended();
  return detector_.loss().has_value();
}

void RegressionGuard::drop_page() {
  page_.clear();
  detector_.drop_page();
}

void RegressionGuard::add_to(PlanDraft& draft) const {
  for (bool own : page_) {
    draft.schedule_binding.push_back(own ? perfmodel::Binding::kNone : draft.binding);
    draft.schedule_flow.push_back(own ? OpFlow{} : draft.flow);
  }
  if (page_.empty()) return;
  for (PlanEntry& entry : draft.entries) {
    if (entry.width == 0) continue;
    for (bool own : page_) entry.schedule.push_back(own ? 0 : entry.width);
  }
}

std::vector<PageColumn> RegressionGuard::columns() const {
  std::vector<PageColumn> columns;
  for (bool own : page_) columns.push_back(own ? PageColumn::kControl : PageColumn::kPlan);
  return columns;
}

std::string RegressionGuard::roll_back(uint32_t step) {
  const std::string why = detector_.loss()->reason;
  rollbacks_.push_back({step, "plan", why, detector_.loss()->seconds});
  explore_again_ = true;
  detector_.end();
  return "rolled back: " + why;
}

void RegressionGuard::remember(Rollback rollback) {
  if (rollbacks_.size() < kMostRemembered) rollbacks_.push_back(std::move(rollback));
}

// A search is worth a hundredth of the time; after a rollback, or when the steps' time changed for
// good while nothing was changed by us, it begins as soon as that much has passed. So it does for a
// plan that was made for more cores, and for one that was chosen without a search.
bool RegressionGuard::earns_exploration(double seconds, bool for_more_cores, bool replayed) {
  if (!for_more_cores && !refines_) {
    if (replayed || detector_.active()) return false;
    const double level = detector_.level() / explored_at_level_;
    if (level > kNewStepLevel || level < 1 / kNewStepLevel) explore_again_ = true;
    if (!explore_again_) return false;
  }
  explore_credit_ += kExploreShare * seconds;
  if (explore_credit_ < kExplorePrice * seconds) return false;
  explore_credit_ = 0;
  if (for_more_cores) return true;
  explore_again_ = refines_ = false;
  explored_at_level_ = detector_.level();
  return rollbacks_.size() < kMostRollbacks;
}

GuardView RegressionGuard::view() const {
  return {detector_.active(), detector_.verified(), detector_.cost().controls,
          detector_.cost().seconds, rollbacks_};
}

}  // namespace optile::tuner
