// The level of the whole steps under a plan: what the latest ones took, and whether all of them
// moved away from the first ones for good. Pure; owned by the regression detector.
#pragma once

#include <cstddef>
#include <vector>

namespace optile::tuner {

class StepLevel {
 public:
  static constexpr int kQuietSteps = 100;  // between two changes of level; doubled each time

  enum class Change { kNone, kSlower, kFaster };

  Change on_step(double seconds);

  int steps() const { return steps_; }
  bool is_fresh() const { return steps_ <= static_cast<int>(kRecent); }  // so few steps so far
  // The latest ones, oldest first; enough of them to compare with.
  const std::vector<double>& recent() const { return recent_; }
  bool has_recent() const { return recent_.size() == kRecent; }
  double median_of_recent() const;
  // Of all changes since the first step, as a ratio; 1 = none.
  double level() const { return level_; }

 private:
  static constexpr std::size_t kRecent = 8;
  static constexpr std::size_t kReference = 8;

  std::vector<double> recent_;
  std::vector<double> reference_;  // the first ones, or those after the latest change
  int steps_ = 0;
  int quiet_until_ = 0;  // steps before a change is looked at again
  int next_quiet_ = 0;
  double level_ = 1;
};

}  // namespace optile::tuner
