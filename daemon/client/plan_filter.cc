#include "daemon/client/plan_filter.h"

#include <utility>
#include <vector>

#include "daemon/client/width_numerics.h"

namespace optile::daemon {
namespace {

bool leave_hung_regions(tuner::PlanDraft& draft, const PlanConditions& conditions) {
  if (conditions.hangs.empty()) return true;
  std::vector<tuner::PlanEntry> entries;
  for (const auto& [key, hang] : conditions.hangs) {
    entries.push_back({{key, 0}, 0, tuner::Rule::kLeftAlone, true, {}, {}});
  }
  for (tuner::PlanEntry& entry : draft.entries) {
    if (!conditions.hangs.contains(entry.place.key)) entries.push_back(std::move(entry));
  }
  draft.entries = std::move(entries);
  draft.may_pause_sampling =
      false;  // nobody looks at entries meanwhile, and a lease's cap is in force
  return true;
}

bool keep_bits(tuner::PlanDraft& draft, const PlanConditions& conditions) {
  if (!conditions.as_untuned) return true;
  draft.default_width_cap = 0;
  draft.flow = {};
  draft.schedule_flow.clear();
  std::erase_if(draft.entries, [&](const tuner::PlanEntry& entry) {
    const auto op = conditions.ops.find(entry.place.key);
    return !entry.leave && (op == conditions.ops.end() || !same_bits_at_every_width(op->second));
  });
  return true;
}

bool withhold_trials(tuner::PlanDraft& draft, const PlanConditions& conditions) {
  return !conditions.freeze || draft.schedule_length == 0;
}

bool keep_sampling(tuner::PlanDraft& draft, const PlanConditions& conditions) {
  if (conditions.observed) draft.may_pause_sampling = false;
  return true;
}

bool cap_at_cores(tuner::PlanDraft& draft, const PlanConditions& conditions) {
  const int cap = conditions.core_cap;
  if (cap > 0 && (draft.default_width_cap == 0 || cap < draft.default_width_cap)) {
    draft.default_width_cap = cap;
  }
  return true;
}

constexpr PlanRule kRules[] = {
    {"hung regions",
     "what did not return at another width is left alone: from the first page on, before the "
     "session has seen it, and first, since a page has only so much room",
     leave_hung_regions},
    {"same bits",
     "no cap of every op, and a width only for ops that compute the same bits at each "
     "(--numerics as-untuned)",
     keep_bits},
    {"no trials", "every run has the same widths: nothing is tried (--mode freeze)",
     withhold_trials},
    {"no sampling pause", "what more cores are worth to it is told by its ops", keep_sampling},
    {"core cap", "no op is wider than the cores that lease or budget leave", cap_at_cores},
};

}  // namespace

std::span<const PlanRule> plan_rules() {
  return kRules;
}

const PlanRule* filter_plan(tuner::PlanDraft& draft, const PlanConditions& conditions) {
  for (const PlanRule& rule : kRules) {
    if (!rule.apply(draft, conditions)) return &rule;
  }
  return nullptr;
}

}  // namespace optile::daemon
