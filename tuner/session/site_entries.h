// Entries of a plan page for the sites of a step: what every phase writes alike. Pure.
#pragma once

#include <algorithm>
#include <utility>

#include "tuner/plan/plan.h"
#include "tuner/steps/step_model.h"

namespace optile::tuner {

// `fill(i, entry)` writes what the i-th site is to run at; entries that change nothing are left
// out.
template <typename Fill>
void add_site_entries(const StepModel& step, PlanDraft& draft, const Fill& fill) {
  for (std::size_t i = 0; i < step.sites().size(); ++i) {
    const Site& site = step.sites()[i];
    PlanEntry entry;
    entry.place = site.place;
    if (site.leave) {
      entry.leave = true;
      entry.rule = Rule::kLeftAlone;
      draft.entries.push_back(std::move(entry));
      continue;
    }
    fill(i, entry);
    const bool idle = std::all_of(entry.schedule.begin(), entry.schedule.end(),
                                  [](int width) { return width == 0; });
    if (entry.width != 0 || !idle) draft.entries.push_back(std::move(entry));
  }
}

}  // namespace optile::tuner
