#include "tuner/statistics/regression_detector.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <utility>

namespace optile::tuner {
namespace {

constexpr std::size_t kRecent = 8;     // plan steps that a control is compared with
constexpr std::size_t kReference = 8;  // that the level is compared with
constexpr double kBroken = 1.25;       // times the promise: suspicious from the first whole step on
constexpr double kGross = 1.25;        // slower than every control: lost without a comparison
constexpr double kSlower = 1.03;       // slower than the control: compared step by step
constexpr double kFaster = 0.95;       // faster than the control: verified, whatever was suspected
constexpr double kNewLevel = 1.15;     // a lasting change of the steps' time
constexpr int kQuietSteps = 100;       // between two suspicions about the level; doubled each time
constexpr int kVerifyingSteps = 24;    // of one comparison
constexpr double kMostCredit = 2;      // controls that can be saved up

perfmodel::Nanoseconds nanoseconds(double seconds) {
  return perfmodel::Nanoseconds(std::llround(seconds * 1e9));
}

}  // namespace

void RegressionDetector::begin(double promised, double own, uint64_t seed) {
  end();
  active_ = true;
  watching_ = true;
  promised_ = promised;
  own_ = own;
  seed_ = seed;
  // Nobody knows what this plan is worth: one control at once.
  if (promised_ <= 0) suspect("nothing is known of this plan");
}

void RegressionDetector::watch() {
  end();
  watching_ = true;
}

void RegressionDetector::end() {
  const uint32_t controls = controls_;
  const double control_seconds = control_seconds_;
  const double credit = credit_;
  *this = RegressionDetector();
  controls_ = controls;
  control_seconds_ = control_seconds;
  credit_ = credit;
}

void RegressionDetector::suspect(std::string why) {
  if (!active_ || lost_ || suspicious_) return;
  suspicious_ = true;
  suspicion_ = std::move(why);
}

void RegressionDetector::on_surroundings_changed() {
  if (steps_ < deaf_until_) return;
  deaf_until_ = steps_ + kQuietSteps;
  suspect("the surroundings changed");
}

double RegressionDetector::recent_plan() const {
  return median(recent_);
}

void RegressionDetector::on_plan_step(double seconds) {
  if (!watching_ || lost_ || seconds <= 0) return;
  ++steps_;
  credit_ += kControlShare * seconds;
  recent_.push_back(seconds);
  if (recent_.size() > kRecent) recent_.erase(recent_.begin());
  if (reference_.size() < kReference) reference_.push_back(seconds);
  if (promised_ > 0 && !verified_ && steps_ <= static_cast<int>(kRecent) &&
      seconds > kBroken * promised_) {
    suspect("steps are slower than when the plan was made");
  }
  watch_level(seconds);
}

void RegressionDetector::on_unwatched_steps(uint32_t steps) {
  if (!watching_ || lost_) return;
  credit_ += kControlShare * recent_plan() * steps;
}

// All of the latest steps on one side of the reference: no single slow one.
void RegressionDetector::watch_level(double seconds) {
  if (steps_ < quiet_until_ || recent_.size() < kRecent || reference_.size() < kReference) return;
  if (steps_ < static_cast<int>(kReference + kRecent)) return;
  const double usual = median(reference_);
  const double ratio = seconds / usual;
  if (ratio < kNewLevel && ratio > 1 / kNewLevel) return;
  const bool slower = ratio > 1;
  const bool all = std::all_of(recent_.begin(), recent_.end(), [&](double step) {
    return slower ? step > kNewLevel * usual : step < usual / kNewLevel;
  });
  if (!all) return;
  level_ *= recent_plan() / usual;
  reference_ = recent_;
  next_quiet_ = next_quiet_ == 0 ? kQuietSteps : next_quiet_ * 2;
  quiet_until_ = steps_ + next_quiet_;
  suspect(slower ? "steps became slower" : "steps became faster");
}

bool RegressionDetector::control_due() const {
  if (!active_ || lost_ || recent_.empty()) return false;
  if (suspicious_) return true;
  const double own = own_ > 0 ? own_ : 2 * recent_plan();
  return recent_.size() == kRecent && credit_ >= own;
}

const std::vector<bool>& RegressionDetector::page() {
  if (!page_.empty() || lost_) return page_;
  if (stage_ == Stage::kComparing) {
    for (int candidate : comparison_->next_page()) page_.push_back(candidate == 1);
  } else if (control_due()) {
    stage_ = Stage::kControl;
    control_steps_.clear();
    bracket_.clear();
    // In turns, so that a quiet moment of the machine does not speak for one of them alone.
    page_ = suspicious_ ? std::vector<bool>{true, false, true} : std::vector<bool>{true};
  }
  return page_;
}

void RegressionDetector::on_page_step(int column, double seconds) {
  if (column < 0 || column >= static_cast<int>(page_.size()) || seconds <= 0) return;
  if (stage_ == Stage::kComparing) comparison_->record(column, nanoseconds(seconds));
  if (!page_[static_cast<std::size_t>(column)]) {
    bracket_.push_back(seconds);
    return;
  }
  ++controls_;
  control_seconds_ += seconds;
  credit_ -= seconds;
  if (stage_ == Stage::kControl) control_steps_.push_back(seconds);
}

void RegressionDetector::page_ended() {
  page_.clear();
  if (stage_ == Stage::kControl) {
    judge_control();
  } else if (stage_ == Stage::kComparing) {
    close_comparison();
  }
  credit_ = std::min(credit_, kMostCredit * std::max(own_, recent_plan()));
}

void RegressionDetector::drop_page() {
  page_.clear();
  if (stage_ == Stage::kControl) stage_ = Stage::kIdle;
}

void RegressionDetector::judge_control() {
  stage_ = Stage::kIdle;
  if (control_steps_.empty() || recent_.empty()) return;  // lost on the way: asked for again
  const double control = *std::min_element(control_steps_.begin(), control_steps_.end());
  own_ = control;
  const double plan = recent_plan();
  // One of them may have run before the plan had arrived.
  std::vector<double> sorted = recent_;
  std::sort(sorted.begin(), sorted.end());
  const double fastest = sorted[sorted.size() > 2 ? 1 : 0];
  const double slowest = *std::max_element(control_steps_.begin(), control_steps_.end());
  const bool whole = control_steps_.size() > 1 && !bracket_.empty();
  const bool all_slower = std::all_of(bracket_.begin(), bracket_.end(),
                                      [&](double step) { return step > kGross * slowest; });
  if (suspicious_ && whole && all_slower && fastest > kGross * slowest) {
    lose(plan, control);
    return;
  }
  const bool unclear = suspicious_ ? plan > kFaster * control : plan > kSlower * control;
  if (!unclear) {
    verified_ = verified_ || suspicious_;
    suspicious_ = false;
    return;
  }
  // A single control says little; the comparison begins as soon as the next page goes out.
  suspect("a control step was faster than the plan");
  stage_ = Stage::kComparing;
  ComparisonOptions options;
  options.candidates =
      2;  // the plan stays unless the program's default widths are settled as faster
  options.most_steps = kVerifyingSteps;
  options.least_gain = 0.01;
  options.seed = seed_ + controls_;
  comparison_ = std::make_unique<StepComparison>(options);
}

void RegressionDetector::close_comparison() {
  comparison_->close_page();
  if (!comparison_->decided()) return;
  stage_ = Stage::kIdle;
  const double own_is_faster = comparison_->gain(0, 1);
  if (comparison_->winner() == 1) {
    const double plan = recent_plan();
    lose(plan, plan / (1 + own_is_faster));
    return;
  }
  verified_ = true;
  suspicious_ = false;
}

void RegressionDetector::lose(double plan, double own) {
  lost_ = true;
  own_ = own;
  loss_ = std::max(0.0, plan - own);
  char text[256];
  std::snprintf(
      text, sizeof text,
      "the plan was %.0f %% slower than the program's default widths (%.4g against %.4g s a "
      "step); looked at because %s",
      100 * (plan / own - 1), plan, own, suspicion_.c_str());
  reason_ = text;
}

}  // namespace optile::tuner
