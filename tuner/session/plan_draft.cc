#include "tuner/session/plan_draft.h"

#include <algorithm>

namespace optile::tuner {
namespace {

constexpr uint32_t kObservedSteps = 50;  // with events of every op, in observe mode

// Some op of the step could run at another width than the program's own.
bool steers_something(const ClientRecord& client) {
  const StepModel* step = client.step.model();
  return step != nullptr && !client.environment.usable_cases().empty() &&
         std::any_of(step->sites().begin(), step->sites().end(), [&](const Site& site) {
           return !client.environment.observes_only(site.place.key) && !cannot_be_set(site);
         });
}

bool records_all(const ClientRecord& client) {
  switch (client.phase) {
    case Phase::kRecognising:
      return client.step.watching() || (!client.step.gave_up() && !pauses_unsteered(client));
    case Phase::kExploring:
      return true;
    case Phase::kComparing:
      return false;  // whole steps are compared as they will run later
    case Phase::kObserving:
      return client.times.observed < kObservedSteps;
    case Phase::kTuned:
      return client.step.watching();
  }
  return false;
}

// With one width for all, or everything at the program's own, there is nothing to do at an op.
bool does_nothing(const PlanDraft& draft) {
  return !draft.record_all && draft.schedule_length == 0 && !draft.flow.admits() &&
         draft.binding == perfmodel::Binding::kNone &&
         std::all_of(draft.entries.begin(), draft.entries.end(),
                     [](const PlanEntry& entry) { return entry.width == 0; });
}

}  // namespace

bool has_enough_steps(const ClientRecord& client) {
  const bool watching = client.step.watching();
  const bool own = client.times.own.count() >= kFewestSampledSteps;
  if (client.phase == Phase::kTuned)
    return !watching && client.times.tuned.count() >= kFewestSampledSteps;
  if (pauses_unsteered(client)) return !watching && own;
  return client.phase == Phase::kObserving && own;
}

// Behind the search and the first steps under its plan: neither they nor the guard, which hears of
// no counted step, wait for counters. Counts explain widths: where none can be set they are read
// only for who asked for them.
bool has_use_for_counts(const ClientRecord& client, const InForce& in_force) {
  const SessionOptions& options = client.environment.options();
  if (client.step.watching() || in_force.lent.lent() || in_force.guard.has_page()) return false;
  if (client.times.counted >= options.counted_steps) return false;
  if (client.phase == Phase::kObserving) return true;
  if (client.phase == Phase::kTuned) {
    return client.times.tuned.count() >= kFewestSampledSteps &&
           (options.counts_in_any_case || steers_something(client));
  }
  return options.counts_in_any_case && client.phase == Phase::kRecognising &&
         client.step.model() != nullptr && client.environment.default_width() == 0;
}

PlanDraft draft_plan(const ClientRecord& client, const InForce& in_force,
                     const WidthTuning& tuning) {
  PlanDraft draft;
  draft.count =
      !client.environment.options().counting_waits && has_use_for_counts(client, in_force);
  draft.record_all = records_all(client) || draft.count;
  draft.record_nested = draft.record_all && client.phase == Phase::kObserving;
  if (client.step.model() != nullptr) {
    draft.marker = client.step.model()->marker();
  } else if (in_force.plan.replayed() != nullptr) {
    draft.marker = in_force.plan.replayed()->marker;
  }
  const bool enough = has_enough_steps(client);
  tuning.add_to(draft, enough);
  draft.may_pause_sampling = enough && does_nothing(draft);
  return draft;
}

PublishedPage describe_page(const ClientRecord& client, const InForce& in_force,
                            const WidthTuning& tuning, const PlanDraft& draft) {
  PublishedPage page;
  page.base_is_plan = in_force.plan.replayed() != nullptr || client.phase == Phase::kTuned;
  page.counts = draft.count;
  page.serial = client.phase == Phase::kExploring && !draft.schedule_flow.empty();
  page.lent = in_force.lent.lent();
  page.columns = tuning.columns();
  return page;
}

}  // namespace optile::tuner
