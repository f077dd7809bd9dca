#include "bindings/preload/probes/tensorflow/step_function.h"

namespace optile::preload {

bool StepFunction::begins_step(uint64_t function) {
  calls_[count_++ % kRemembered] = function;
  if (function != leader_ && (leader_ == 0 || leader_is_gone(function) || is_rarer(function))) {
    leader_ = function;
  }
  return function == leader_;
}

bool StepFunction::leader_is_gone(uint64_t function) const {
  uint32_t leaders = 0;
  uint32_t recent = 0;
  for (uint32_t ago = 0; ago < kRemembered; ++ago) {
    if (call(ago) != leader_) continue;
    ++leaders;
    if (ago < kGone) ++recent;
  }
  return recent == 0 || (leaders == 1 && call(1) == function);
}

// Several calls in a row are one time: an evaluation of many batches leads no step.
bool StepFunction::is_rarer(uint64_t function) const {
  uint32_t times = 0;
  uint32_t leaders = 0;
  for (uint32_t ago = 0; ago < kRemembered; ++ago) {
    if (call(ago) == leader_) ++leaders;
    const bool again = ago + 1 < kRemembered && call(ago + 1) == function;
    if (call(ago) == function && !again) ++times;
  }
  return times >= kRegular && 3 * times < 2 * leaders;
}

}  // namespace optile::preload
