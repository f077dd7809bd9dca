#include "tuner/plan/op_samples.h"

#include <algorithm>
#include <cmath>

namespace optile::tuner {
namespace {

// SampleSet's interval is for many samples; the spread of a few is underestimated.
constexpr double kLeastSpread = 0.01;    // of the time, per sample: clocks and caches are not exact
constexpr double kUnknownSpread = 0.10;  // of the time, while too few samples show one

double relative_error(const perfmodel::SampleSet& set) {
  const auto n = static_cast<double>(set.count());
  const double ns = std::max(1.0, static_cast<double>(set.median().count()));
  const double kept = static_cast<double>(set.kept().size());
  const double seen = static_cast<double>(set.median_error().count()) / 1.96 * (1 + 2 / kept) / ns;
  return std::max(seen, kLeastSpread / std::sqrt(std::min(n, kept)));
}

}  // namespace

double longest_ns(const OpSamples& samples, perfmodel::Configuration at,
                  perfmodel::Configuration own) {
  const auto of = [&](perfmodel::Configuration known) {
    const perfmodel::SampleSet* set = samples.profile.find(known);
    const bool any = set != nullptr && set->count() > 0;
    return any ? static_cast<double>(set->median().count()) * known.width / at.width : 0;
  };
  for (int width = at.width; width < own.width; ++width) {
    if (const double ns = of({width, at.binding}); ns > 0) return ns;
  }
  return of(own);
}

std::optional<Estimate> measured(const OpSamples& samples, perfmodel::Configuration at,
                                 perfmodel::Configuration reference) {
  const perfmodel::SampleSet* set = samples.profile.find(at);
  if (set == nullptr || set->count() == 0) return std::nullopt;
  Estimate estimate;
  estimate.ns = std::max(1.0, static_cast<double>(set->median().count()));
  estimate.samples = set->count();
  double relative = 0;
  if (set->count() >= 3) {
    relative = relative_error(*set);
  } else {
    const perfmodel::SampleSet* control = samples.profile.find(reference);
    double spread = kUnknownSpread;
    if (control != nullptr && control->count() >= 3) {
      const auto kept = static_cast<double>(control->kept().size());
      spread = std::max(spread, relative_error(*control) * std::sqrt(kept));
    }
    relative = spread / std::sqrt(static_cast<double>(set->count()));
  }
  estimate.error_ns = relative * estimate.ns;
  return estimate;
}

double error_of_difference(const Estimate& a, const Estimate& b) {
  return std::hypot(a.error_ns, b.error_ns);
}

}  // namespace optile::tuner
