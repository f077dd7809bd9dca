#include "perfmodel/profile/curve.h"

#include <algorithm>
#include <cmath>

namespace optile::perfmodel {
namespace {

bool by_binding_then_width(const CurvePoint& a, const CurvePoint& b) {
  return a.at.binding != b.at.binding ? a.at.binding < b.at.binding : a.at.width < b.at.width;
}

// The straight line through two sampled points, read at `width`.
Nanoseconds on_line(const CurvePoint& a, const CurvePoint& b, int width) {
  const double slope =
      static_cast<double>((b.time - a.time).count()) / static_cast<double>(b.at.width - a.at.width);
  const double ns = static_cast<double>(a.time.count()) + slope * (width - a.at.width);
  return Nanoseconds(std::max<long long>(1, std::llround(ns)));
}

}  // namespace

Curve::Curve(const Profile& profile) {
  for (const auto& [at, samples] : profile.cases) {
    if (samples.count() == 0 || at.width <= 0) continue;
    sampled_.push_back({at, std::max(samples.median(), Nanoseconds(1)), PointKind::kSampled});
  }
  std::sort(sampled_.begin(), sampled_.end(), by_binding_then_width);
}

std::optional<CurvePoint> Curve::at(Configuration wanted) const {
  const auto same_binding = [&](const CurvePoint& p) { return p.at.binding == wanted.binding; };
  const auto first = std::find_if(sampled_.begin(), sampled_.end(), same_binding);
  if (first == sampled_.end()) return std::nullopt;
  const auto end = std::find_if_not(first, sampled_.end(), same_binding);

  const auto above = std::find_if(
      first, end, [&](const CurvePoint& point) { return point.at.width >= wanted.width; });
  if (above != end && above->at.width == wanted.width) return *above;
  if (end - first == 1) return CurvePoint{wanted, first->time, PointKind::kExtrapolated};
  if (above == end) {
    return CurvePoint{wanted, on_line(*(end - 2), *(end - 1), wanted.width),
                      PointKind::kExtrapolated};
  }
  if (above == first) {
    return CurvePoint{wanted, on_line(*first, *(first + 1), wanted.width),
                      PointKind::kExtrapolated};
  }
  return CurvePoint{wanted, on_line(*(above - 1), *above, wanted.width), PointKind::kInterpolated};
}

std::optional<CurvePoint> Curve::best() const {
  const auto fastest =
      std::min_element(sampled_.begin(), sampled_.end(),
                       [](const CurvePoint& a, const CurvePoint& b) { return a.time < b.time; });
  if (fastest == sampled_.end()) return std::nullopt;
  return *fastest;
}

std::optional<double> prediction_accuracy(const std::vector<AccuracySample>& samples) {
  if (samples.empty()) return std::nullopt;
  double error = 0;
  for (const AccuracySample& sample : samples) {
    error += std::abs(sample.predicted_ns - sample.measured_ns) / sample.measured_ns;
  }
  return 1.0 - error / static_cast<double>(samples.size());
}

}  // namespace optile::perfmodel
