#include "tuner/search/statistical_search.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "tuner/search/scaling_law.h"

namespace optile::tuner {
namespace {

using perfmodel::Binding;
using perfmodel::Configuration;

constexpr double kSettled = 2.0;      // standard errors
constexpr double kFarSlower = 1.5;    // one run that much slower ends a case
constexpr double kSlower = 1.2;       // two runs do
constexpr double kTouchExtra = 1e6;   // ns that a first touch may cost more: threads, primitives
constexpr double kTouchFactor = 1.2;  // and caches

}  // namespace

StatisticalSearch::StatisticalSearch(const OpSamples& samples, StatisticalOptions options)
    : samples_(samples), options_(std::move(options)) {
  if (options_.cores <= kFewCores) {
    for (const Configuration& at : options_.admitted) cases_[at] = CaseState::kOpen;
  } else {
    grow();
  }
  review();
}

void StatisticalSearch::review() {
  const std::optional<Estimate> own = measured(samples_, options_.own, options_.own);
  if (!own) return;
  const Estimate lead = fastest(*own);
  for (auto& [at, state] : cases_) {
    if (state == CaseState::kOpen || state == CaseState::kDone) {
      state = judge(at, *own, lead);
    }
  }
  close_last(*own);
  const bool open = std::any_of(cases_.begin(), cases_.end(),
                                [](const auto& entry) { return entry.second == CaseState::kOpen; });
  if (!open && options_.cores > kFewCores) grow();
}

// One case left, and settled better than the control: more samples would not change anything.
void StatisticalSearch::close_last(const Estimate& own) {
  const auto alive = [](const auto& entry) {
    return entry.second == CaseState::kOpen || entry.second == CaseState::kDone;
  };
  if (std::count_if(cases_.begin(), cases_.end(), alive) != 1) return;
  auto& [at, state] = *std::find_if(cases_.begin(), cases_.end(), alive);
  const std::optional<Estimate> seen = measured(samples_, at, options_.own);
  if (seen && settled_better(*seen, own)) state = CaseState::kDone;
}

StatisticalSearch::CaseState StatisticalSearch::judge(Configuration at, const Estimate& own,
                                                      const Estimate& lead) const {
  const std::optional<Estimate> seen = measured(samples_, at, options_.own);
  if (!seen || seen->samples < 3) return judge_few(at, own);
  const double error = error_of_difference(*seen, lead);
  if (seen->ns - lead.ns > kSettled * error) {
    return seen->ns > kFarSlower * own.ns ? CaseState::kHopeless : CaseState::kWorse;
  }
  const double most_gain = own.ns - seen->ns + kSettled * error_of_difference(*seen, own);
  if (most_gain < options_.least_gain * own.ns) return CaseState::kWorse;
  return seen->samples >= kEnough ? CaseState::kDone : CaseState::kOpen;
}

// Too few samples for statistics: only a clear loss ends a case.
StatisticalSearch::CaseState StatisticalSearch::judge_few(Configuration at,
                                                          const Estimate& own) const {
  const perfmodel::SampleSet* set = samples_.profile.find(at);
  // What one control execution may be off; the estimate's error is that of their median.
  const double off = own.error_ns * std::sqrt(static_cast<double>(std::min<std::size_t>(
                                        own.samples, perfmodel::SampleSet::kKept)));
  if (set == nullptr || set->count() == 0) {
    const auto touched = samples_.touched.find(at);
    if (touched != samples_.touched.end()) {
      const auto ns = static_cast<double>(touched->second.count());
      if (ns > kTouchExtra + kTouchFactor * kFarSlower * own.ns + 3 * off) {
        return CaseState::kHopeless;
      }
    }
    const auto asked = samples_.asked.find(at);
    const bool in_vain = asked != samples_.asked.end() && asked->second >= kAskedInVain;
    return in_vain ? CaseState::kHopeless : CaseState::kOpen;
  }
  // The first touch is an execution too: one that was hit by something else is not held against
  // the case when the touch was fast.
  auto least = static_cast<double>(set->min().count());
  if (const auto touched = samples_.touched.find(at); touched != samples_.touched.end()) {
    least = std::min(least, static_cast<double>(touched->second.count()));
  }
  if (least > kFarSlower * own.ns + 3 * off) return CaseState::kHopeless;
  if (set->count() >= 2 && least > kSlower * own.ns + 3 * off) return CaseState::kWorse;
  return CaseState::kOpen;
}

// The fastest case that has been seen often enough to eliminate others.
Estimate StatisticalSearch::fastest(const Estimate& own) const {
  Estimate lead = own;
  for (const auto& [at, state] : cases_) {
    if (state == CaseState::kHopeless) continue;
    const std::optional<Estimate> seen = measured(samples_, at, options_.own);
    if (seen && seen->samples >= 3 && seen->ns < lead.ns) lead = *seen;
  }
  return lead;
}

bool StatisticalSearch::settled_better(const Estimate& candidate, const Estimate& own) const {
  return candidate.samples >= 3 &&
         own.ns - candidate.ns > kSettled * error_of_difference(candidate, own);
}

std::vector<Wish> StatisticalSearch::wishes() const {
  const std::optional<Estimate> own = measured(samples_, options_.own, options_.own);
  std::vector<Wish> wishes;
  for (const auto& [at, state] : cases_) {
    if (state != CaseState::kOpen) continue;
    const std::optional<Estimate> seen = measured(samples_, at, options_.own);
    if (!own || !seen) {
      // A first touch, or one counted run behind a touch that promised nothing.
      const auto touched = samples_.touched.find(at);
      const bool promising = own && touched != samples_.touched.end() &&
                             static_cast<double>(touched->second.count()) < 1.15 * own->ns;
      wishes.push_back({at, promising ? 2 : 1});
      continue;
    }
    const bool doubtful = seen->samples < 3 && seen->ns > kSlower * own->ns;
    const auto rest = static_cast<int>(kEnough - std::min(kEnough, seen->samples));
    wishes.push_back({at, doubtful ? 1 : std::min(4, rest)});
  }
  return wishes;
}

bool StatisticalSearch::tolerates(Configuration at, double slack_ns) const {
  const auto known = cases_.find(at);
  if (known == cases_.end()) {
    if (options_.cores <= kFewCores) return false;
    // Narrower than a hopeless width is hopeless.
    for (const auto& [other, state] : cases_) {
      if (state == CaseState::kHopeless && other.binding == at.binding && other.width >= at.width) {
        return false;
      }
    }
  }
  const Estimate none;
  const std::optional<Estimate> here = measured(samples_, at, options_.own);
  const Estimate rest = measured(samples_, best(), options_.own).value_or(none);
  if (here && rest.samples > 0) return here->ns - rest.ns <= slack_ns;
  const auto touched = samples_.touched.find(at);
  if (touched != samples_.touched.end() && rest.samples > 0) {
    return static_cast<double>(touched->second.count()) - rest.ns <= slack_ns;
  }
  return known == cases_.end() || known->second != CaseState::kHopeless;
}

Configuration StatisticalSearch::best() const {
  const std::optional<Estimate> own = measured(samples_, options_.own, options_.own);
  Configuration best = options_.own;
  if (!own) return best;
  double best_ns = own->ns;
  for (const auto& [at, state] : cases_) {
    if (state == CaseState::kHopeless) continue;
    const std::optional<Estimate> seen = measured(samples_, at, options_.own);
    if (!seen || seen->ns >= best_ns || !settled_better(*seen, *own)) continue;
    best = at;
    best_ns = seen->ns;
  }
  return best;
}

Rule StatisticalSearch::rule() const {
  return best() == options_.own ? Rule::kDefaultWidth : Rule::kFastest;
}

// ---- more than kFewCores cores -----------------------------------------------------------------

bool StatisticalSearch::grow() {
  std::set<Binding> bindings;
  for (const Configuration& at : options_.admitted) bindings.insert(at.binding);
  bool grown = false;
  for (Binding binding : bindings) grown = grow_coarse(binding) || grown;
  return grown || refine();
}

std::vector<int> StatisticalSearch::widths_of(Binding binding) const {
  std::vector<int> widths;
  for (const Configuration& at : options_.admitted) {
    if (at.binding == binding) widths.push_back(at.width);
  }
  std::sort(widths.begin(), widths.end());
  return widths;
}

bool StatisticalSearch::try_case(Configuration at) {
  if (at == options_.own || cases_.contains(at)) return false;
  cases_[at] = CaseState::kOpen;
  return true;
}

// Two more halvings of the default width, unless the narrowest tried one is hopeless. The default
// width itself is a case only under a binding; without one it is the control.
bool StatisticalSearch::grow_coarse(Binding binding) {
  const std::vector<int> widths = widths_of(binding);
  if (widths.empty()) return false;
  int narrowest = 0;
  for (const auto& [at, state] : cases_) {
    if (at.binding != binding) continue;
    if (state == CaseState::kHopeless) return false;
    narrowest = narrowest == 0 ? at.width : std::min(narrowest, at.width);
  }
  int added = 0;
  const double widest = options_.own.width / (binding == options_.own.binding ? 2.0 : 1.0);
  double target = narrowest == 0 ? widest : narrowest / 2.0;
  for (; target >= 1 && added < 2; target /= 2) {
    const auto nearest = std::min_element(widths.begin(), widths.end(), [&](int a, int b) {
      return std::abs(a - target) < std::abs(b - target);
    });
    added += try_case({*nearest, binding}) ? 1 : 0;
  }
  return added > 0;
}

// Around the best sampled width of its binding: where a fitted law has its minimum, and half-way to
// both neighbours.
bool StatisticalSearch::refine() {
  const std::optional<Estimate> own = measured(samples_, options_.own, options_.own);
  if (!own || own->ns < options_.refine_from_ns || refinements_ >= kRefinements) return false;
  Configuration best = options_.own;
  double best_ns = own->ns;
  std::vector<std::pair<Configuration, double>> seen = {{options_.own, own->ns}};
  for (const auto& [at, state] : cases_) {
    const std::optional<Estimate> estimate = measured(samples_, at, options_.own);
    if (!estimate) continue;
    seen.push_back({at, estimate->ns});
    if (estimate->ns < best_ns) {
      best = at;
      best_ns = estimate->ns;
    }
  }
  ++refinements_;
  std::set<Binding> bindings = {best.binding};
  if (best == options_.own) {
    for (const Configuration& at : options_.admitted) bindings.insert(at.binding);
  }
  bool grown = false;
  for (Binding binding : bindings) {
    std::vector<LawPoint> points;
    int below = 0;
    int above = 0;
    for (const auto& [at, ns] : seen) {
      if (at.binding != binding && !(at == options_.own)) continue;
      points.push_back({at.width, ns});
      if (at.width < best.width) below = std::max(below, at.width);
      if (at.width > best.width) above = above == 0 ? at.width : std::min(above, at.width);
    }
    const std::vector<int> widths = widths_of(binding);
    const auto propose = [&](double target) {
      const auto nearest = std::min_element(widths.begin(), widths.end(), [&](int a, int b) {
        return std::abs(a - target) < std::abs(b - target);
      });
      if (nearest == widths.end() || *nearest <= below || (above != 0 && *nearest >= above)) return;
      // A neighbour that differs by less than a tenth is not told apart from the best.
      if (10 * std::abs(*nearest - best.width) < best.width) return;
      grown = try_case({*nearest, binding}) || grown;
    };
    if (below != 0) propose((below + best.width) / 2.0);
    if (above != 0) propose((above + best.width) / 2.0);
    if (const std::optional<ScalingLaw> law = fit_scaling_law(points); law && !widths.empty()) {
      propose(*std::min_element(widths.begin(), widths.end(),
                                [&](int a, int b) { return law->at(a) < law->at(b); }));
    }
  }
  return grown;
}

}  // namespace optile::tuner
