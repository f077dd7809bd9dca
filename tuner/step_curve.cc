#include "tuner/step_curve.h"

#include <algorithm>
#include <cstddef>

namespace optile::tuner {
namespace {

constexpr double kMostCores = 65536;    // more than any machine of today
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

// A sum of laws each of which holds from some number of cores on, until another one of the same op
// takes its place: what changes is noted where it changes, so that an op costs as much as it has
// known widths, however many cores there are.
class Laws {
 public:
  explicit Laws(int most) : changes_(static_cast<std::size_t>(std::max(0, most))) {}

  void begin_op() { in_force_ = {}; }
  // `times` this law from `cores` on.
  void from(int cores, const Law& law, int times) {
    const Law whole{law.serial * times, law.parallel * times};
    if (cores <= static_cast<int>(changes_.size())) {
      Law& change = changes_[static_cast<std::size_t>(std::max(1, cores)) - 1];
      change.serial += whole.serial - in_force_.serial;
      change.parallel += whole.parallel - in_force_.parallel;
    }
    in_force_ = whole;
  }
  std::vector<double> seconds() const {
    std::vector<double> seconds;
    seconds.reserve(changes_.size());
    Law sum;
    for (const Law& change : changes_) {
      sum.serial += change.serial;
      sum.parallel += change.parallel;
      seconds.push_back(std::max(0.0, sum.at(static_cast<int>(seconds.size()) + 1)) * 1e-9);
    }
    return seconds;
  }

 private:
  std::vector<Law> changes_;
  Law in_force_;  // of the op
};

void add_op(Laws& laws, const CurveOp& op) {
  laws.begin_op();
  const WidthEstimate& narrowest = op.known.front();
  laws.from(1, {0, narrowest.ns * narrowest.width}, op.per_step);
  double best = narrowest.ns;
  laws.from(narrowest.width, {best, 0}, op.per_step);
  for (const WidthEstimate& one : op.known) {
    if (one.ns >= best) continue;
    best = one.ns;
    laws.from(one.width, {best, 0}, op.per_step);
  }
  // From where it is below the best that was measured.
  const Law beyond = law_beyond(op.known);
  if (beyond.parallel <= 0 || beyond.serial >= best) return;
  const double below = std::min(beyond.parallel / (best - beyond.serial), kMostCores);
  laws.from(std::max(op.known.back().width, static_cast<int>(below)) + 1, beyond, op.per_step);
}

}  // namespace

std::vector<int> curve_widths(int most, int own_width) {
  std::vector<int> widths;
  for (int width = 1; width <= most; width += std::max(1, width / 4)) {
    widths.push_back(width);
  }
  if (own_width > 0 && own_width <= most) widths.push_back(own_width);
  if (most > 0) widths.push_back(most);
  std::sort(widths.begin(), widths.end());
  widths.erase(std::unique(widths.begin(), widths.end()), widths.end());
  return widths;
}

std::vector<double> ops_seconds_by_cores(const std::vector<CurveOp>& ops, int most) {
  Laws laws(most);
  for (const CurveOp& op : ops) {
    if (!op.known.empty()) add_op(laws, op);
  }
  return laws.seconds();
}

}  // namespace optile::tuner
