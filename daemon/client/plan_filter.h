// What is changed in a session's plan before it becomes a page: rules in one order, each of which
// may take something out of what the ones before it have left. Pure; any thread. What the shim does
// not obey of a page: bindings/preload/core/width_decision.h; both: docs/design/0013-guard.md.
#pragma once

#include <cstdint>
#include <map>
#include <span>

#include "daemon/store/store_records.h"
#include "perfmodel/profile/op.h"
#include "tuner/plan/plan.h"

namespace optile::daemon {

// What the rules look at.
struct PlanConditions {
  const std::map<uint64_t, HangRecord>& hangs;              // by key, of earlier runs too
  const std::map<uint64_t, perfmodel::OpDescription>& ops;  // that are known, by key
  bool as_untuned = false;                                  // --numerics as-untuned
  bool freeze = false;                                      // --mode freeze
  bool observed = false;                                    // its progress is looked at
  int core_cap = 0;                                         // of lease or budget; 0 = none
};

struct PlanRule {
  const char* name;
  const char* reason;
  // False: there is to be no page at all.
  bool (*apply)(tuner::PlanDraft& draft, const PlanConditions& conditions);
};

std::span<const PlanRule> plan_rules();

// Applies the rules in their order. Null, or the one that withholds the plan.
const PlanRule* filter_plan(tuner::PlanDraft& draft, const PlanConditions& conditions);

}  // namespace optile::daemon
