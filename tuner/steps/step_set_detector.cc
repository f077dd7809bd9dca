#include "tuner/steps/step_set_detector.h"

#include <algorithm>
#include <utility>

namespace optile::tuner {

void StepSetDetector::add(const perfmodel::OpPlace& place) {
  // One more than fit is enough to know that the step is too long.
  if (open_.size() <= kMostOps) open_.push_back(place);
}

bool StepSetDetector::end_step() {
  std::sort(open_.begin(), open_.end());
  ++steps_;
  ++all_steps_;
  const bool usable = !open_.empty() && open_.size() <= kMostOps;
  equal_ = !usable ? 0 : open_ == latest_ ? equal_ + 1 : 1;
  std::swap(open_, latest_);
  open_.clear();
  if (equal_ < kEqualSteps || all_steps_ < kFirstSteps + kEqualSteps) return false;
  if (latest_ == step_.sequence) return false;
  step_.sequence = latest_;
  step_.marker = {latest_.front(), static_cast<int>(latest_.size())};
  return true;
}

void StepSetDetector::restart() {
  open_.clear();
  latest_.clear();
  equal_ = 0;
  steps_ = 0;
}

}  // namespace optile::tuner
