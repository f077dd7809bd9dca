#include "tuner/plan/step_curve.h"

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

// Through two known widths; parallel is below nothing where the wider one is slower.
Law law_through(const WidthEstimate& narrow, const WidthEstimate& wide) {
  const double parallel = (narrow.ns - wide.ns) / (1.0 / narrow.width - 1.0 / wide.width);
  return {wide.ns - parallel / wide.width, parallel};
}

Law law_of_one(const WidthEstimate& only) {
  return {only.ns * (1 - kParallelShare), only.ns * kParallelShare * only.width};
}

Law ideal_law(const WidthEstimate& at) {
  return {0, at.ns * at.width};
}

Law law_beyond(const std::vector<WidthEstimate>& known) {
  const WidthEstimate& widest = known.back();
  if (known.size() == 1) return law_of_one(widest);
  const Law law = law_through(known[known.size() - 2], widest);
  // A curve that rises at its end, or falls faster than the ideal one, promises nothing more.
  if (law.parallel <= 0) return {widest.ns, 0};
  return law.serial < 0 ? ideal_law(widest) : law;
}

Law law_below(const std::vector<WidthEstimate>& known) {
  const WidthEstimate& narrowest = known.front();
  if (known.size() == 1) return law_of_one(narrowest);
  const Law law = law_through(narrowest, known[1]);
  // One that rises, or falls faster than the ideal one, says nothing of how it began.
  return law.parallel <= 0 || law.serial < 0 ? ideal_law(narrowest) : law;
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

// An op that scales less than its law says has shown it by one execution: that one was cold, so it
// is faster in truth, never slower. That it gains by fewer threads no single execution shows.
std::vector<WidthEstimate> with_touched(const CurveOp& op) {
  std::vector<WidthEstimate> known = op.known;
  for (auto touch = op.touched.rbegin(); touch != op.touched.rend(); ++touch) {
    if (touch->width < known.front().width && touch->ns < law_below(known).at(touch->width)) {
      known.insert(known.begin(), {touch->width, std::max(touch->ns, known.front().ns), 0});
    }
  }
  return known;
}

void add_op(Laws& laws, const CurveOp& op) {
  const std::vector<WidthEstimate> known = with_touched(op);
  laws.begin_op();
  laws.from(1, law_below(known), op.per_step);
  WidthEstimate best = known.front();
  for (std::size_t i = 1; i < known.size(); ++i) {
    // A width that is slower is not used: with so many cores it is as fast as with fewer.
    const WidthEstimate& next = known[i];
    const bool faster = next.ns < best.ns;
    laws.from(best.width, faster ? law_through(best, next) : Law{best.ns, 0}, op.per_step);
    best = {next.width, std::min(best.ns, next.ns), 0};
  }
  laws.from(best.width, {best.ns, 0}, op.per_step);
  // From where it is below the best that was measured.
  const Law beyond = law_beyond(known);
  if (beyond.parallel <= 0 || beyond.serial >= best.ns) return;
  const double below = std::min(beyond.parallel / (best.ns - beyond.serial), kMostCores);
  laws.from(std::max(best.width, static_cast<int>(below)) + 1, beyond, op.per_step);
}

}  // namespace

std::vector<double> ops_seconds_by_cores(const std::vector<CurveOp>& ops, int most) {
  Laws laws(most);
  for (const CurveOp& op : ops) {
    if (!op.known.empty()) add_op(laws, op);
  }
  return laws.seconds();
}

}  // namespace optile::tuner
