#include "tuner/step_curve.h"

#include <algorithm>
#include <cstddef>

namespace optile::tuner {
namespace {

constexpr double kParallelShare = 0.9;  // of an op that was seen at one width only

// time = serial + parallel / width, through the widest points.
struct Law {
  double serial = 0;
  double parallel = 0;

  double at(int width) const { return serial + parallel / width; }
};

Law law_beyond(const std::vector<WidthEstimate>& known) {
  const WidthEstimate& widest = known.back();
  if (known.size() == 1) {
    return {widest.ns * (1 - kParallelShare), widest.ns * kParallelShare * widest.width};
  }
  const WidthEstimate& before = known[known.size() - 2];
  const double parallel = (before.ns - widest.ns) / (1.0 / before.width - 1.0 / widest.width);
  // A curve that rises at its end, or falls faster than the ideal one, promises nothing more.
  if (parallel <= 0) return {widest.ns, 0};
  const double serial = std::max(0.0, widest.ns - parallel / widest.width);
  return {serial, (widest.ns - serial) * widest.width};
}

double op_ns(const std::vector<WidthEstimate>& known, int cores) {
  const WidthEstimate& narrowest = known.front();
  if (cores < narrowest.width) return narrowest.ns * narrowest.width / cores;
  double best = narrowest.ns;
  for (const WidthEstimate& one : known) {
    if (one.width <= cores) best = std::min(best, one.ns);
  }
  if (cores > known.back().width) best = std::min(best, law_beyond(known).at(cores));
  return best;
}

}  // namespace

std::vector<double> ops_seconds_by_cores(const std::vector<CurveOp>& ops, int most) {
  std::vector<double> seconds(static_cast<std::size_t>(std::max(0, most)), 0);
  for (std::size_t i = 0; i < seconds.size(); ++i) {
    for (const CurveOp& op : ops) {
      if (op.known.empty()) continue;
      seconds[i] += op.per_step * op_ns(op.known, static_cast<int>(i) + 1) * 1e-9;
    }
  }
  return seconds;
}

}  // namespace optile::tuner
