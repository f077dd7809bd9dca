// Which executions of an op are samples, and of what: not those in which a team was built, which
// are kept aside, nor first touches. Owned by the session; one thread.
#pragma once

#include <cstdint>

#include "perfmodel/profile/switching_cost.h"
#include "tuner/session/session_input.h"
#include "tuner/steps/step_model.h"

namespace optile::tuner {

class OpSampler {
 public:
  // `site`: null where the execution says nothing about an op of the step.
  void take(const OpEvent& event, Site* site, const perfmodel::SwitchingCost& cost);
  // An op whose neighbours never run at its trial width has no other samples than those with a
  // change of width in them; without the price of one they are better than none.
  void accept_changes(OpSamples& samples, const perfmodel::SwitchingCost& cost);

  uint64_t samples() const { return samples_; }  // taken so far

 private:
  bool holds_change(const OpEvent& event, const perfmodel::SwitchingCost& cost) const;

  uint64_t samples_ = 0;
  int team_before_ = 0;  // of the op before, to see a change
};

}  // namespace optile::tuner
