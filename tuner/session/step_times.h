// What whole steps of a client took, by what they ran under. Plain record; owned by the session.
#pragma once

#include <cstdint>

#include "perfmodel/profile/profile.h"
#include "tuner/search/trial_budget.h"
#include "tuner/statistics/coverage.h"

namespace optile::tuner {

// Steps under the plan in force that are watched before any is left out: enough for its figures.
inline constexpr uint64_t kFewestSampledSteps = 12;

struct StepTimes {
  perfmodel::SampleSet own;      // at the program's default widths
  perfmodel::SampleSet control;  // those of them that ran as the tuned ones do
  perfmodel::SampleSet uniform;  // at the best uniform width
  perfmodel::SampleSet tuned;    // under the plan in force
  perfmodel::SampleSet trial_controls;
  uint32_t sampled = 0;  // steps in which some op ran a case neither planned nor control
  double sampled_seconds = 0;
  uint32_t observed = 0;  // in observe mode
  uint32_t counted = 0;   // with counters read
  Coverage coverage;
  TrialBudget budget;

  // At the program's default widths; 0 = not known yet.
  TrialBudget::Seconds own_step() const {
    return own.count() == 0 ? TrialBudget::Seconds(0) : own.median();
  }
  // Steps at other widths are no measure for those from now on.
  void forget() {
    own = {};
    control = {};
    uniform = {};
    tuned = {};
    budget.on_bounds_changed();
  }
};

}  // namespace optile::tuner
