#include "tuner/statistics/regression_detector.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <utility>

namespace optile::tuner {
namespace {

constexpr double kBroken = 1.25;     // times the promise: suspicious from the first whole step on
constexpr double kGross = 1.25;      // slower than every control: lost without a comparison
constexpr double kSlower = 1.03;     // slower than the control: compared step by step
constexpr double kFaster = 0.95;     // faster than the control: verified, whatever was suspected
constexpr int kVerifyingSteps = 24;  // of one comparison
constexpr double kMostCredit = 2;    // controls that can be saved up

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
  const ControlCost cost = cost_;
  *this = RegressionDetector();
  cost_ = cost;
}

void RegressionDetector::suspect(std::string why) {
  if (active_ && !loss_ && !suspicion_) suspicion_ = std::move(why);
}

void RegressionDetector::on_surroundings_changed() {
  if (level_.steps() < deaf_until_) return;
  deaf_until_ = level_.steps() + StepLevel::kQuietSteps;
  suspect("the surroundings changed");
}

void RegressionDetector::on_plan_step(double seconds) {
  if (!watching_ || loss_ || seconds <= 0) return;
  cost_.credit += kControlShare * seconds;
  const StepLevel::Change change = level_.on_step(seconds);
  if (promised_ > 0 && !verified_ && level_.is_fresh() && seconds > kBroken * promised_) {
    suspect("steps are slower than when the plan was made");
  }
  if (change == StepLevel::Change::kSlower) suspect("steps became slower");
  if (change == StepLevel::Change::kFaster) suspect("steps became faster");
}

void RegressionDetector::on_unsampled_steps(uint32_t steps) {
  if (!watching_ || loss_) return;
  cost_.credit += kControlShare * level_.median_of_recent() * steps;
}

bool RegressionDetector::control_due() const {
  if (!active_ || loss_ || level_.recent().empty()) return false;
  if (suspicion_) return true;
  const double own = own_ > 0 ? own_ : 2 * level_.median_of_recent();
  return level_.has_recent() && cost_.credit >= own;
}

const std::vector<bool>& RegressionDetector::page() {
  if (!page_.columns.empty() || loss_) return page_.columns;
  if (page_.stage == Stage::kComparing) {
    for (int candidate : comparison_->next_page()) page_.columns.push_back(candidate == 1);
  } else if (control_due()) {
    page_.stage = Stage::kControl;
    page_.controls.clear();
    page_.bracket.clear();
    // In turns, so that a quiet moment of the machine does not speak for one of them alone.
    page_.columns = suspicion_ ? std::vector<bool>{true, false, true} : std::vector<bool>{true};
  }
  return page_.columns;
}

void RegressionDetector::on_page_step(int column, double seconds) {
  if (column < 0 || column >= static_cast<int>(page_.columns.size()) || seconds <= 0) return;
  if (page_.stage == Stage::kComparing) comparison_->record(column, nanoseconds(seconds));
  if (!page_.columns[static_cast<std::size_t>(column)]) {
    page_.bracket.push_back(seconds);
    return;
  }
  ++cost_.controls;
  cost_.seconds += seconds;
  cost_.credit -= seconds;
  if (page_.stage == Stage::kControl) page_.controls.push_back(seconds);
}

void RegressionDetector::page_ended() {
  page_.columns.clear();
  if (page_.stage == Stage::kControl) {
    judge_control();
  } else if (page_.stage == Stage::kComparing) {
    close_comparison();
  }
  cost_.credit = std::min(cost_.credit, kMostCredit * std::max(own_, level_.median_of_recent()));
}

void RegressionDetector::drop_page() {
  page_.columns.clear();
  if (page_.stage == Stage::kControl) page_.stage = Stage::kIdle;
}

void RegressionDetector::judge_control() {
  page_.stage = Stage::kIdle;
  if (page_.controls.empty() || level_.recent().empty())
    return;  // lost on the way: asked for again
  const double control = *std::min_element(page_.controls.begin(), page_.controls.end());
  own_ = control;
  const double plan = level_.median_of_recent();
  // One of them may have run before the plan had arrived.
  std::vector<double> sorted = level_.recent();
  std::sort(sorted.begin(), sorted.end());
  const double fastest = sorted[sorted.size() > 2 ? 1 : 0];
  const double slowest = *std::max_element(page_.controls.begin(), page_.controls.end());
  const bool whole = page_.controls.size() > 1 && !page_.bracket.empty();
  const bool all_slower = std::all_of(page_.bracket.begin(), page_.bracket.end(),
                                      [&](double step) { return step > kGross * slowest; });
  if (suspicion_ && whole && all_slower && fastest > kGross * slowest) {
    lose(plan, control);
    return;
  }
  const bool unclear = suspicion_ ? plan > kFaster * control : plan > kSlower * control;
  if (!unclear) {
    verified_ = verified_ || suspicion_.has_value();
    suspicion_.reset();
    return;
  }
  // A single control says little; the comparison begins as soon as the next page goes out.
  suspect("a control step was faster than the plan");
  page_.stage = Stage::kComparing;
  ComparisonOptions options;
  // The plan stays unless the program's default widths are settled as faster.
  options.candidates = 2;
  options.most_steps = kVerifyingSteps;
  options.least_gain = 0.01;
  options.seed = seed_ + cost_.controls;
  comparison_ = std::make_unique<StepComparison>(options);
}

void RegressionDetector::close_comparison() {
  comparison_->close_page();
  if (!comparison_->decided()) return;
  page_.stage = Stage::kIdle;
  const double own_is_faster = comparison_->gain(0, 1);
  if (comparison_->winner() == 1) {
    const double plan = level_.median_of_recent();
    lose(plan, plan / (1 + own_is_faster));
    return;
  }
  verified_ = true;
  suspicion_.reset();
}

void RegressionDetector::lose(double plan, double own) {
  own_ = own;
  char text[256];
  std::snprintf(
      text, sizeof text,
      "the plan was %.0f %% slower than the program's default widths (%.4g against %.4g s a "
      "step); looked at because %s",
      100 * (plan / own - 1), plan, own, suspicion_->c_str());
  loss_ = Loss{text, std::max(0.0, plan - own)};
}

}  // namespace optile::tuner
