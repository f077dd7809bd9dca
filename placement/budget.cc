#include "placement/budget.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace optile::placement {
namespace {

constexpr unsigned kCallsPerLook = 64;

}  // namespace

Budget::Budget(Limits limits, Clock now) : limits_(limits), now_(std::move(now)), start_(now_()) {}

std::uint64_t Budget::evaluations_left() const {
  return limits_.evaluations > evaluations_ ? limits_.evaluations - evaluations_ : 0;
}

bool Budget::limits_evaluations() const {
  return limits_.evaluations != std::numeric_limits<std::uint64_t>::max();
}

bool Budget::limits_time() const {
  return std::isfinite(limits_.seconds);
}

bool Budget::spent() {
  if (over_) return true;
  if (evaluations_ >= limits_.evaluations) return true;
  if (limits_.cancelled != nullptr && limits_.cancelled->load(std::memory_order_relaxed)) {
    over_ = true;
    return true;
  }
  if (++calls_ % kCallsPerLook != 0 || !limits_time()) return false;
  over_ = seconds() >= limits_.seconds;
  return over_;
}

bool Budget::spent_now() {
  if (limits_time() && seconds() >= limits_.seconds) over_ = true;
  return spent();
}

double Budget::used() const {
  double part = 0;
  if (limits_evaluations()) {
    part = static_cast<double>(evaluations_) /
           static_cast<double>(std::max<std::uint64_t>(limits_.evaluations, 1));
  }
  if (limits_time() && limits_.seconds > 0) part = std::max(part, seconds() / limits_.seconds);
  return std::min(part, 1.0);
}

double Budget::seconds() const {
  return std::chrono::duration<double>(now_() - start_).count();
}

double Budget::seconds_left() const {
  return std::max(0.0, limits_.seconds - seconds());
}

Budget Budget::part(double of_time, double of_evaluations) const {
  Limits limits = limits_;
  if (limits_time()) limits.seconds = seconds_left() * of_time;
  if (limits_evaluations()) {
    limits.evaluations =
        static_cast<std::uint64_t>(static_cast<double>(evaluations_left()) * of_evaluations);
  }
  return Budget(limits, now_);
}

}  // namespace optile::placement
