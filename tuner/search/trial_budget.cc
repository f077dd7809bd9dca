#include "tuner/search/trial_budget.h"

#include <algorithm>
#include <cmath>

namespace optile::tuner {
namespace {

using Seconds = TrialBudget::Seconds;

constexpr double kShare = 0.03;  // of the time that the program has run
constexpr int kStepsToKnowOwn = 3;

}  // namespace

void TrialBudget::on_bounds_changed() {
  lost_before_ += lost_;
  lost_ = Seconds(0);
}

Seconds TrialBudget::credit() const {
  return kFree + kShare * ran_ - lost_before_ - lost_;
}

int TrialBudget::steps_to_earn(Seconds loss, Seconds own, int most) const {
  if (own <= Seconds(0)) return std::min(kStepsToKnowOwn, most);
  const double steps = std::ceil((loss - credit()) / (kShare * own));
  return static_cast<int>(std::clamp(steps, 1.0, static_cast<double>(most)));
}

}  // namespace optile::tuner
