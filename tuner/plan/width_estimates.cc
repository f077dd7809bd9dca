#include "tuner/plan/width_estimates.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <optional>

#include "perfmodel/profile/curve.h"

namespace optile::tuner {
namespace {

using perfmodel::Configuration;

constexpr double kPredictedError = 0.10;     // of the time, between samples
constexpr double kExtrapolatedError = 0.25;  // beyond them, and for first touches
constexpr std::size_t kFewSamples = 3;       // fewer show no spread
constexpr double kAgree = 2.0;               // standard errors

// Ratio to the default width over all places of a key.
struct Shared {
  double time = 0;
  double own = 0;
  double variance = 0;
  double own_variance = 0;
  int places = 0;
};

std::optional<WidthEstimate> first_touch(const OpSamples& samples, Configuration at) {
  const auto touched = samples.touched.find(at);
  if (touched == samples.touched.end()) return std::nullopt;
  const auto ns = static_cast<double>(touched->second.count());
  return WidthEstimate{at.width, ns, kExtrapolatedError * ns};
}

std::optional<WidthEstimate> predicted(const OpSamples& samples, const perfmodel::Curve& curve,
                                       Configuration at) {
  const std::optional<perfmodel::CurvePoint> point = curve.at(at);
  const bool between = point && point->kind == perfmodel::PointKind::kInterpolated;
  if (!between) {
    if (const auto touched = first_touch(samples, at)) return touched;
  }
  if (!point) return std::nullopt;
  const auto ns = static_cast<double>(point->time.count());
  return WidthEstimate{at.width, ns, (between ? kPredictedError : kExtrapolatedError) * ns};
}

std::optional<WidthEstimate> guessed(const OpSamples& samples, const perfmodel::Curve& curve,
                                     Configuration at, bool predict) {
  if (predict) return predicted(samples, curve, at);
  return samples.profile.cases.empty() ? first_touch(samples, at) : std::nullopt;
}

std::optional<Estimate> at_default_width(const OpSamples& samples, const EstimateOptions& options) {
  const Configuration bound{options.own.width, options.binding};
  const std::optional<Estimate> estimate = measured(samples, bound, options.own);
  return estimate ? estimate : measured(samples, options.own, options.own);
}

using SharedByWidth = std::map<int, Shared>;

std::map<uint64_t, SharedByWidth> share(const std::vector<EstimateSource>& sources,
                                        const EstimateOptions& options) {
  std::map<uint64_t, SharedByWidth> by_key;
  for (const EstimateSource& source : sources) {
    const std::optional<Estimate> own = at_default_width(*source.samples, options);
    if (!own) continue;
    for (int width : options.widths) {
      const auto seen = measured(*source.samples, {width, options.binding}, options.own);
      if (!seen || seen->samples < kFewSamples) continue;
      Shared& shared = by_key[source.key][width];
      shared.time += seen->ns;
      shared.own += own->ns;
      shared.variance += seen->error_ns * seen->error_ns;
      shared.own_variance += own->error_ns * own->error_ns;
      ++shared.places;
    }
  }
  return by_key;
}

Shared shared_at(const SharedByWidth& by_width, int width) {
  const auto found = by_width.find(width);
  return found == by_width.end() ? Shared{} : found->second;
}

// The place's own measurement, or its default-width time scaled by the key's ratio when both agree.
WidthEstimate combine(int width, const Estimate& seen, const Estimate& own, const Shared& shared) {
  const WidthEstimate alone{width, seen.ns, seen.error_ns};
  if (shared.own <= 0) return alone;
  const double ratio = shared.time / shared.own;
  const double ratio_error =
      std::sqrt(shared.variance + ratio * ratio * shared.own_variance) / shared.own;
  const double here = seen.ns / own.ns;
  const double here_error = std::hypot(seen.error_ns, here * own.error_ns) / own.ns;
  if (seen.samples < kFewSamples) {
    // One or two executions may have been hit by anything; the other places know better.
    return {width, own.ns * ratio, own.ns * std::hypot(ratio_error, kPredictedError * ratio)};
  }
  if (shared.places < 2) return alone;
  if (std::abs(here - ratio) > kAgree * std::hypot(here_error, ratio_error)) return alone;
  // The places may still differ by less than can be told.
  return {width, own.ns * ratio, own.ns * std::hypot(ratio_error, 0.25 * here_error)};
}

}  // namespace

std::vector<std::vector<WidthEstimate>> estimate_widths(const std::vector<EstimateSource>& sources,
                                                        const EstimateOptions& options) {
  const std::map<uint64_t, SharedByWidth> shared = share(sources, options);
  std::vector<std::vector<WidthEstimate>> all;
  all.reserve(sources.size());
  for (const EstimateSource& source : sources) {
    std::vector<WidthEstimate> estimates;
    const perfmodel::Curve curve(source.samples->profile);
    const std::optional<Estimate> own = at_default_width(*source.samples, options);
    const auto of_key = shared.find(source.key);
    for (int width : options.widths) {
      if (width == options.own.width) continue;
      const Configuration at{width, options.binding};
      const auto seen = measured(*source.samples, at, options.own);
      if (seen && own && of_key != shared.end()) {
        estimates.push_back(combine(width, *seen, *own, shared_at(of_key->second, width)));
      } else if (seen) {
        estimates.push_back({width, seen->ns, seen->error_ns});
      } else if (const auto guess = guessed(*source.samples, curve, at, options.predict)) {
        estimates.push_back(*guess);
      }
    }
    if (own) estimates.push_back({options.own.width, own->ns, own->error_ns});
    std::sort(estimates.begin(), estimates.end(),
              [](const auto& a, const auto& b) { return a.width < b.width; });
    all.push_back(std::move(estimates));
  }
  return all;
}

}  // namespace optile::tuner
