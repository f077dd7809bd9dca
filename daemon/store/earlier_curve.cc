#include "daemon/store/earlier_curve.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <iterator>

#include "tuner/plan/step_curve.h"

namespace optile::daemon {
namespace {

// 1, 2, 3, 4, 6, 8, 12, …: laws lie close to a curve between these.
bool is_kept(int cores, int most) {
  int power = 1;
  while (power * 2 <= cores) power *= 2;
  return cores == power || cores == power + power / 2 || cores == most;
}

// On lines between its points, flat outside.
double interpolated(const std::map<double, double>& points, double at) {
  const auto next = points.lower_bound(at);
  if (next == points.end()) return points.rbegin()->second;
  if (next == points.begin() || next->first == at) return next->second;
  const auto before = std::prev(next);
  const double part = (at - before->first) / (next->first - before->first);
  return before->second + part * (next->second - before->second);
}

}  // namespace

std::vector<double> seconds_by_cores(const EarlierCurve& curve, int most) {
  if (curve.points.size() < 2) return {};
  tuner::CurveOp step;
  step.per_step = 1;
  for (const CurvePoint& point : curve.points) {
    step.known.push_back({point.cores, point.seconds * 1e9, 0});
  }
  return tuner::ops_seconds_by_cores({step}, most);
}

double pace_against(const std::vector<double>& earlier, const std::map<int, double>& measured) {
  double logarithms = 0;
  int counted = 0;
  for (const auto& [cores, seconds] : measured) {
    const auto place = static_cast<std::size_t>(cores) - 1;
    if (place >= earlier.size() || earlier[place] <= 0 || seconds <= 0) continue;
    logarithms += std::log(seconds / earlier[place]);
    ++counted;
  }
  return counted == 0 ? 1 : std::exp(logarithms / counted);
}

std::vector<double> through(const std::vector<double>& promised,
                            const std::map<int, double>& points) {
  std::map<double, double> off;  // logarithms: by cores, how many times as long it took
  std::vector<tuner::WidthEstimate> known;
  for (const auto& [cores, seconds] : points) {
    const auto place = static_cast<std::size_t>(cores) - 1;
    if (cores < 1 || place >= promised.size() || promised[place] <= 0 || seconds <= 0) continue;
    off[std::log(cores)] = std::log(seconds / promised[place]);
    known.push_back({cores, seconds * 1e9, 0});
  }
  if (off.empty()) return promised;
  std::vector<double> corrected = promised;
  for (std::size_t place = 0; place < corrected.size(); ++place) {
    corrected[place] *= std::exp(interpolated(off, std::log(static_cast<double>(place + 1))));
  }
  if (known.size() < 2) return corrected;
  const int most = static_cast<int>(corrected.size());
  const std::vector<double> by_law = tuner::ops_seconds_by_cores({{1, known, {}}}, most);
  for (auto place = static_cast<std::size_t>(known.back().width); place < corrected.size();
       ++place) {
    corrected[place] = std::max(corrected[place], by_law[place]);
  }
  return corrected;
}

EarlierCurve completed(EarlierCurve curve, const EarlierCurve& other) {
  if (!(curve.about == other.about)) return curve;
  std::map<int, CurvePoint> points;
  std::map<int, double> measured;
  int most = 1;
  for (const CurvePoint& point : curve.points) {
    points[point.cores] = point;
    if (point.measured) measured[point.cores] = point.seconds;
    most = std::max(most, point.cores);
  }
  const double pace = pace_against(seconds_by_cores(other, most), measured);
  for (CurvePoint point : other.points) {
    if (!point.measured || measured.contains(point.cores)) continue;
    point.seconds *= pace;
    points[point.cores] = point;
  }
  curve.points.clear();
  for (const auto& [cores, point] : points) curve.points.push_back(point);
  return curve;
}

EarlierCurve curve_to_keep(const CurveSubject& about, const std::vector<double>& seconds,
                           const std::map<int, double>& measured, const EarlierCurve* earlier,
                           int64_t when) {
  EarlierCurve kept{about, 0, {}};
  const int most = static_cast<int>(seconds.size());
  for (int cores = 1; cores <= most; ++cores) {
    const double one = seconds[static_cast<std::size_t>(cores) - 1];
    if (measured.contains(cores)) {
      kept.points.push_back({cores, one, true, when});
      continue;
    }
    const CurvePoint* known = nullptr;
    if (earlier != nullptr) {
      const auto found = std::find_if(earlier->points.begin(), earlier->points.end(),
                                      [cores](const auto& point) { return point.cores == cores; });
      if (found != earlier->points.end() && found->measured) known = &*found;
    }
    if (known != nullptr) {
      kept.points.push_back({cores, one, true, known->when});
    } else if (is_kept(cores, most)) {
      kept.points.push_back({cores, one, false, when});
    }
  }
  return kept;
}

}  // namespace optile::daemon
