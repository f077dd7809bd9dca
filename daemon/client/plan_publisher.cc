#include "daemon/client/plan_publisher.h"

#include <algorithm>

#include "bindings/abi/layout.h"

namespace optile::daemon {
namespace {

// Steps at the program's default width are controls and no trials.
Trials trials_of(const tuner::PlanDraft& draft, int default_width) {
  Trials trials;
  for (const tuner::PlanEntry& entry : draft.entries) {
    bool tried = false;
    for (const int width : entry.schedule) {
      if (width == 0 || width == default_width) continue;
      trials.widths.insert(width);
      tried = true;
    }
    trials.ops += tried ? 1 : 0;
  }
  return trials;
}

bool binds(const tuner::PlanDraft& draft) {
  const auto is_set = [](perfmodel::Binding binding) {
    return binding != perfmodel::Binding::kNone;
  };
  return is_set(draft.binding) ||
         std::any_of(draft.schedule_binding.begin(), draft.schedule_binding.end(), is_set);
}

// Counting is to be over after a few steps, as a schedule is.
DrainPace::Want wanted_events(const tuner::PlanDraft& draft) {
  if (draft.schedule_length > 0 || draft.count) return DrainPace::Want::kProfiling;
  return draft.record_all ? DrainPace::Want::kListening : DrainPace::Want::kFigures;
}

}  // namespace

void PlanPublisher::publish(tuner::PlanDraft draft, const PlanConditions& conditions,
                            PageSurroundings surroundings, int default_width) {
  const int width_cap = conditions.as_untuned ? 0 : draft.default_width_cap;
  if (filter_plan(draft, conditions) != nullptr) {
    withheld_trials_ = true;
    return;
  }
  surroundings.default_width_cap = draft.default_width_cap;
  surroundings.same_bits = conditions.as_untuned;
  const std::size_t left_out = page_.publish(page_.generation() + 1, draft, surroundings);
  in_force_ = {left_out, trials_of(draft, default_width), draft.may_pause_sampling, width_cap,
               wanted_events(draft)};
  was_bound_ = was_bound_ || binds(draft);
  schedule_lengths_.push_back(static_cast<uint8_t>(
      std::clamp(draft.schedule_length, 0, static_cast<int>(OPTILE_MAX_SCHEDULE))));
}

}  // namespace optile::daemon
