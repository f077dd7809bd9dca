#include "placement/search/metropolis.h"

#include <cmath>

namespace optile::placement {
namespace {

// Of rounds for each evaluation that is left, and before the first one.
constexpr std::uint64_t kRoundsPerEvaluation = 64;
constexpr std::uint64_t kFirstRounds = 1024;

}  // namespace

void Metropolis::start(const Cooling& cooling, double scale) {
  start_ = scale * cooling.start;
  log_ratio_ = std::log(cooling.end / cooling.start);
  rounds_ = 0;
}

bool Metropolis::goes_on(Budget& budget) {
  if (budget.spent()) return false;
  if (rounds_ % rounds_per_look_ == 0) {
    temperature_ = start_ * std::exp(log_ratio_ * budget.used());
    if (budget.spent_now()) return false;
    const bool idles = rounds_ / kRoundsPerEvaluation > budget.evaluations_left() + kFirstRounds;
    if (!budget.limits_time() && idles) return false;
  }
  ++rounds_;
  return true;
}

bool Metropolis::accepts(double before, double after, Random& random) const {
  if (after <= before) return true;
  const double power = (after - before) / temperature_;
  return !(power > hopeless_) && random.unit() < std::exp(-power);
}

}  // namespace optile::placement
