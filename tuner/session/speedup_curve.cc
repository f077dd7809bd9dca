#include "tuner/session/speedup_curve.h"

#include <algorithm>
#include <set>

#include "tuner/plan/step_curve.h"
#include "tuner/plan/width_estimates.h"

namespace optile::tuner {
namespace {

// A program's first executions meet cold caches and memory that is not there yet.
constexpr std::size_t kOutweighsEarlierRuns = 3;

// What earlier runs measured counts for more than what is predicted from this one.
void add_known_times(uint64_t key, const perfmodel::Profile& profile,
                     const std::vector<StoredTime>& times, std::vector<WidthEstimate>& estimates) {
  const auto samples_at = [&](int width) {
    const perfmodel::SampleSet* samples = profile.find({width, perfmodel::Binding::kNone});
    return samples == nullptr ? 0 : samples->count();
  };
  std::vector<WidthEstimate> known;
  for (const StoredTime& time : times) {
    if (time.key != key || samples_at(time.width) >= kOutweighsEarlierRuns) continue;
    known.push_back({time.width, time.ns, 0});
  }
  if (known.empty()) return;
  const std::size_t stored = known.size();
  for (const WidthEstimate& one : estimates) {
    const auto end = known.begin() + static_cast<std::ptrdiff_t>(stored);
    const bool before = std::any_of(
        known.begin(), end, [&](const WidthEstimate& other) { return other.width == one.width; });
    if (samples_at(one.width) > 0 && !before) known.push_back(one);
  }
  std::sort(known.begin(), known.end(),
            [](const auto& a, const auto& b) { return a.width < b.width; });
  estimates = std::move(known);
}

// Widths that any op has run at, up to `most`, ascending.
std::vector<int> widths_seen(const StepModel& step, int most) {
  std::set<int> widths;
  const auto add = [&](const auto& by_case) {
    for (const auto& [at, unused] : by_case) {
      if (at.binding == perfmodel::Binding::kNone && at.width <= most) widths.insert(at.width);
    }
  };
  for (const Site& site : step.sites()) {
    add(site.samples.profile.cases);
    add(site.samples.touched);
  }
  return {widths.begin(), widths.end()};
}

}  // namespace

std::vector<double> SpeedupCurve::ops_by_cores(const ClientRecord& client, int most) const {
  const StepModel& step = *client.step.model();
  const int default_width = client.environment.default_width();
  EstimateOptions options;
  options.own = client.environment.own_case();
  options.widths = widths_seen(step, most);
  options.predict = false;  // lines between widths that are far apart lie high above the curve
  std::vector<EstimateSource> sources;
  for (const Site& site : step.sites()) sources.push_back({site.place.key, &site.samples});
  std::vector<std::vector<WidthEstimate>> estimates = estimate_widths(sources, options);
  std::vector<CurveOp> ops;
  for (std::size_t i = 0; i < estimates.size(); ++i) {
    const Site& site = step.sites()[i];
    // The first execution runs at the program's default width, also on the few cores of a lease:
    // beyond the present width only samples count.
    std::erase_if(estimates[i], [&](const WidthEstimate& one) {
      return one.width > default_width &&
             site.samples.profile.find({one.width, perfmodel::Binding::kNone}) == nullptr;
    });
    add_known_times(site.place.key, site.samples.profile, earlier_, estimates[i]);
    std::vector<WidthEstimate> touched;
    for (const auto& [at, time] : site.samples.touched) {
      if (at.binding == perfmodel::Binding::kNone && at.width < default_width) {
        touched.push_back({at.width, static_cast<double>(time.count()), 0});
      }
    }
    ops.push_back({site.per_step, std::move(estimates[i]), std::move(touched)});
  }
  return ops_seconds_by_cores(ops, most);
}

std::vector<double> SpeedupCurve::seconds_by_cores(const ClientRecord& client, Phase phase,
                                                   int most) {
  const int default_width = client.environment.default_width();
  if (client.step.model() == nullptr || default_width <= 0 || most <= 0 ||
      client.concurrency.usual())
    return {};
  const bool same = ops_.step == client.step.steps_found() && ops_.phase == phase &&
                    ops_.default_width == default_width &&
                    ops_.seconds.size() == static_cast<std::size_t>(most);
  const uint64_t samples = client.sampler.samples();
  if (!same || samples - ops_.samples > ops_.samples / 4) {
    ops_ = {client.step.steps_found(), phase, samples, default_width, ops_by_cores(client, most)};
  }
  std::vector<double> curve = ops_.seconds;
  const perfmodel::SampleSet& steps =
      client.times.tuned.count() > 0 ? client.times.tuned : client.times.own;
  const double measured = seconds(steps.median());
  const double ops = curve[static_cast<std::size_t>(std::min(default_width, most)) - 1];
  if (measured >= ops) {
    if (ops <= 0) return {};
    // What passes outside ops stays as it is. Where a search found nothing to try, few ops were
    // ever sampled: the others are taken to be like them.
    const double in_ops = std::max(ops, std::min(1.0, client.times.coverage.observed()) * measured);
    for (double& one : curve) one = one * in_ops / ops + (measured - in_ops);
  } else if (measured > 0) {
    // Ops are timed while they are watched, or were in an earlier run: where steps take less than
    // they took together, other numbers of cores are not slower than measured either.
    for (double& one : curve) one *= measured / ops;
  }
  return curve;
}

}  // namespace optile::tuner
