#include "tuner/statistics/step_level.h"

#include <algorithm>

#include "tuner/statistics/step_comparison.h"

namespace optile::tuner {
namespace {

constexpr double kNewLevel = 1.15;  // a lasting change of the steps' time

}  // namespace

double StepLevel::median_of_recent() const {
  return median(recent_);
}

// All of the latest steps on one side of the reference: no single slow one.
StepLevel::Change StepLevel::on_step(double seconds) {
  ++steps_;
  recent_.push_back(seconds);
  if (recent_.size() > kRecent) recent_.erase(recent_.begin());
  if (reference_.size() < kReference) reference_.push_back(seconds);
  if (steps_ < quiet_until_ || steps_ < static_cast<int>(kReference + kRecent)) {
    return Change::kNone;
  }
  const double usual = median(reference_);
  const double ratio = seconds / usual;
  if (ratio < kNewLevel && ratio > 1 / kNewLevel) return Change::kNone;
  const bool slower = ratio > 1;
  const bool all = std::all_of(recent_.begin(), recent_.end(), [&](double step) {
    return slower ? step > kNewLevel * usual : step < usual / kNewLevel;
  });
  if (!all) return Change::kNone;
  level_ *= median_of_recent() / usual;
  reference_ = recent_;
  next_quiet_ = next_quiet_ == 0 ? kQuietSteps : next_quiet_ * 2;
  quiet_until_ = steps_ + next_quiet_;
  return slower ? Change::kSlower : Change::kFaster;
}

}  // namespace optile::tuner
