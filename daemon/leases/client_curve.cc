#include "daemon/leases/client_curve.h"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace optile::daemon {

void ClientCurve::recall(EarlierCurve curve, int most) {
  earlier_seconds_ = seconds_by_cores(curve, most);
  if (earlier_seconds_.empty()) return;
  earlier_ = std::move(curve);
  take(earlier_seconds_);
}

bool ClientCurve::set_current_step(uint32_t step_number, const CurveSubject& about) {
  if (std::exchange(step_number_, step_number) != step_number) measured_.clear();
  if (!about.known()) return false;
  about_ = about;
  if (!earlier_ || earlier_->about == about) return false;
  earlier_.reset();
  if (!measured_.empty()) return false;
  progress_.clear();
  return true;
}

void ClientCurve::measure(int cores, double seconds) {
  measured_[cores] = seconds;
}

bool ClientCurve::predict(const std::vector<double>& seconds) {
  if (earlier_ && measured_.empty()) return false;
  std::map<int, double> points;
  if (earlier_) {
    const double pace = pace_against(earlier_seconds_, measured_);
    for (const CurvePoint& point : earlier_->points) {
      if (point.measured) points[point.cores] = point.seconds * pace;
    }
  }
  for (const auto& [cores, one] : measured_) points[cores] = one;
  return take(through(seconds, points));
}

bool ClientCurve::take(std::vector<double> seconds) {
  if (seconds.empty()) return false;
  const double best = *std::min_element(seconds.begin(), seconds.end());
  if (best <= 0) return false;
  std::vector<double> progress;
  progress.reserve(seconds.size());
  for (double one : seconds) progress.push_back(best / one);
  seconds_ = std::move(seconds);
  if (progress == progress_) return false;
  const auto most = std::max_element(progress.begin(), progress.end());
  useful_ = static_cast<int>(most - progress.begin()) + 1;
  progress_ = std::move(progress);
  return true;
}

std::optional<EarlierCurve> ClientCurve::learned(int64_t when) const {
  if (measured_.empty() || seconds_.empty() || !about_.known()) return std::nullopt;
  return curve_to_keep(about_, seconds_, measured_, earlier_ ? &*earlier_ : nullptr, when);
}

}  // namespace optile::daemon
