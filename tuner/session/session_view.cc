#include <algorithm>
#include <set>

#include "tuner/plan/step_curve.h"
#include "tuner/plan/width_estimates.h"
#include "tuner/session/session_state.h"

namespace optile::tuner {

using perfmodel::Configuration;
using perfmodel::Nanoseconds;

namespace {

Nanoseconds median_at(const OpSamples& samples, Configuration at) {
  const perfmodel::SampleSet* set = samples.profile.find(at);
  return set == nullptr ? Nanoseconds(0) : set->median();
}

// The fastest sampled case besides `planned`.
void find_runner_up(const OpSamples& samples, Configuration planned, OpView& view) {
  for (const auto& [at, set] : samples.profile.cases) {
    if (at == planned || set.count() == 0) continue;
    const Nanoseconds time = set.median();
    if (view.runner_up && time >= view.runner_up_time) continue;
    view.runner_up = at;
    view.runner_up_time = time;
  }
}

// What was measured of an op, and what follows from it. `own`: the program's own case; `bounded`: a
// lease made it that narrow, and not the user.
void add_evidence(const OpSamples& samples, Configuration own, bool bounded,
                  perfmodel::Binding in_force, OpView& op) {
  const Configuration planned{op.width == 0 ? own.width : op.width,
                              op.width == 0 ? perfmodel::Binding::kNone : in_force};
  op.profile = samples.profile;
  op.curve = perfmodel::Curve(op.profile);
  if (const auto point = op.curve.at(planned)) op.best_time = point->time;
  op.own_time = median_at(samples, own);
  find_runner_up(samples, planned, op);
  const std::optional<perfmodel::CurvePoint> best = op.curve.best();
  if (op.rule == Rule::kDefaultWidth && !bounded && best && own.width > 0 &&
      best->at.width > own.width) {
    op.rule = Rule::kUserCap;
  }
}

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

// What a program that was over too soon ends with.
std::string no_step_yet(uint64_t steps, Nanoseconds least_repeating) {
  const auto least = std::chrono::duration_cast<std::chrono::milliseconds>(least_repeating);
  return std::string(steps == 0 ? "no step is known yet"
                                : "which ops a step has now is not known") +
         ": ops are taken for one when they have repeated for " + std::to_string(least.count()) +
         " ms";
}

constexpr const char* kUnsteeredText =
    "no repeating step was found, and nothing that was seen has a width that can be set";

// While the program's default width is not known: nothing asked for it, or nothing has begun yet.
std::string nothing_to_search(std::size_t ops) {
  return "a step of " + std::to_string(ops) + (ops == 1 ? " op" : " ops") +
         " is known; none of them has a width that can be set, so they are only watched";
}

}  // namespace

SessionView Session::State::view(Detail detail) const {
  SessionView view;
  view.phase = phase_;
  // The latest one that began has not ended.
  const bool rests = may_have_rested_ && latest_step_ != 0 && steps_begun_ > latest_step_ + 1;
  const uint32_t since = rests ? steps_begun_ - latest_step_ - 1 : 0;
  view.unwatched_steps = unwatched_steps_ + since;
  view.steps = declared_steps_ > 0 ? declared_steps_ : steps_ + view.unwatched_steps;
  view.sampled_steps = sampled_steps_;
  view.samples = samples_;
  view.plan_replayed = replay_verified_;
  view.default_width = default_width_;
  if (phase_ == Phase::kTuned) view.binding = replay_ ? replay_->binding : in_force_.binding;
  if (model_) view.marker = model_->marker();
  view.decision = decision_;
  if (decision_.empty() && phase_ == Phase::kRecognising) {
    view.decision = model_ == nullptr && rests_unsteered() ? kUnsteeredText
                    : model_ == nullptr   ? no_step_yet(view.steps, options_.least_repeating)
                    : default_width_ == 0 ? nothing_to_search(model_->sites().size())
                                          : "";
  }
  view.own_steps = own_steps_;
  view.control_steps = control_steps_;
  view.guard = {guard_.active(), guard_.verified(), guard_.controls(), guard_.control_seconds(),
                rollbacks_};
  view.uniform_steps = uniform_steps_;
  view.uniform_width = uniform_width_;
  view.tuned_steps = tuned_steps_;
  view.switching_cost = cost_.typical();
  view.switching_cost_measured = cost_.measured();
  view.observed_share = coverage_.observed();
  view.steerable_share = coverage_.steerable();
  const perfmodel::SampleSet& normal = tuned_steps_.count() > 0 ? tuned_steps_ : own_steps_;
  view.seconds_in_steps = coverage_.seconds() + view.unwatched_steps * seconds(normal.median());
  // Means of steps that took turns: what else the machine did was in both.
  const Nanoseconds without =
      trial_controls_.count() > 0 ? trial_controls_.mean() : normal.median();
  view.seconds_lost_to_sampling =
      std::max(0.0, sampled_seconds_ - sampled_steps_ * seconds(without));
  if (!model_) return view;

  std::map<perfmodel::OpPlace, const StoredEntry*> stored;
  if (replay_) {
    for (const StoredEntry& entry : replay_->entries) stored[entry.place] = &entry;
  }
  for (std::size_t i = 0; i < model_->sites().size(); ++i) {
    const Site& site = model_->sites()[i];
    OpView op;
    op.place = site.place;
    op.per_step = site.per_step;
    op.rule = site.leave || cannot_be_set(site) ? Rule::kLeftAlone : Rule::kDefaultWidth;
    if (const auto entry = stored.find(site.place); entry != stored.end()) {
      op.width = width_of(*entry->second);
      op.rule = op.width != 0 ? Rule::kReplayed : entry->second->rule;
    } else if (phase_ == Phase::kTuned && i < in_force_.plan.widths.size()) {
      const int width = in_force_.plan.widths[i];
      op.width = width < default_width_ ? width : 0;
      op.rule = in_force_.plan.rules[i];
    }
    if (detail == Detail::kWhole)
      add_evidence(site.samples, own_case(), bounded_, view.binding, op);
    view.ops.push_back(std::move(op));
  }
  view.default_widths_in_force = session_summary().default_widths_in_force;
  return view;
}

// As it runs: one that is not below the present default width is left out of pages.
int Session::State::width_of(const StoredEntry& entry) const {
  return default_width_ > 0 && entry.width >= default_width_ ? 0 : entry.width;
}

SessionSummary Session::State::session_summary() const {
  SessionSummary session_summary;
  session_summary.phase = phase_;
  session_summary.step_number = steps_found_;
  if (model_ != nullptr) session_summary.step_fingerprint = model_->fingerprint();
  session_summary.tuned_steps = tuned_steps_.count();
  session_summary.tuned_step = tuned_steps_.median();
  session_summary.steps_here = tuned_steps_.count() + own_steps_.count();
  if (phase_ != Phase::kTuned) return session_summary;
  const auto own = [this](const StoredEntry& entry) { return width_of(entry) == 0; };
  session_summary.default_widths_in_force =
      replay_ ? replay_->binding == perfmodel::Binding::kNone &&
                    std::all_of(replay_->entries.begin(), replay_->entries.end(), own)
              : !changes_something(in_force_, default_width_);
  session_summary.has_use_for_more = heard_enough() && has_wide_ops();
  return session_summary;
}

// Widths that any op has run at, up to `most`, ascending.
std::vector<int> Session::State::widths_seen(int most) const {
  std::set<int> widths;
  const auto add = [&](const auto& by_case) {
    for (const auto& [at, unused] : by_case) {
      if (at.binding == perfmodel::Binding::kNone && at.width <= most) widths.insert(at.width);
    }
  };
  for (const Site& site : model_->sites()) {
    add(site.samples.profile.cases);
    add(site.samples.touched);
  }
  return {widths.begin(), widths.end()};
}

std::vector<double> Session::State::ops_by_cores(int most) const {
  EstimateOptions options;
  options.own = own_case();
  options.widths = widths_seen(most);
  options.predict = false;  // lines between widths that are far apart lie high above the curve
  std::vector<EstimateSource> sources;
  for (const Site& site : model_->sites()) sources.push_back({site.place.key, &site.samples});
  std::vector<std::vector<WidthEstimate>> estimates = estimate_widths(sources, options);
  std::vector<CurveOp> ops;
  for (std::size_t i = 0; i < estimates.size(); ++i) {
    const Site& site = model_->sites()[i];
    // The first execution runs at the program's default width, also on the few cores of a lease:
    // beyond the present width only samples count.
    std::erase_if(estimates[i], [&](const WidthEstimate& one) {
      return one.width > default_width_ &&
             site.samples.profile.find({one.width, perfmodel::Binding::kNone}) == nullptr;
    });
    add_known_times(site.place.key, site.samples.profile, known_times_, estimates[i]);
    std::vector<WidthEstimate> touched;
    for (const auto& [at, time] : site.samples.touched) {
      if (at.binding == perfmodel::Binding::kNone && at.width < default_width_) {
        touched.push_back({at.width, static_cast<double>(time.count()), 0});
      }
    }
    ops.push_back({site.per_step, std::move(estimates[i]), std::move(touched)});
  }
  return ops_seconds_by_cores(ops, most);
}

std::vector<double> Session::State::step_seconds_by_cores(int most) const {
  if (model_ == nullptr || default_width_ <= 0 || most <= 0 || concurrency_.usual()) return {};
  const bool same = ops_curve_.model == model_.get() && ops_curve_.phase == phase_ &&
                    ops_curve_.default_width == default_width_ &&
                    ops_curve_.seconds.size() == static_cast<std::size_t>(most);
  if (!same || samples_ - ops_curve_.samples > ops_curve_.samples / 4) {
    ops_curve_ = {model_.get(), phase_, samples_, default_width_, ops_by_cores(most)};
  }
  std::vector<double> curve = ops_curve_.seconds;
  const perfmodel::SampleSet& steps = tuned_steps_.count() > 0 ? tuned_steps_ : own_steps_;
  const double measured = seconds(steps.median());
  const double ops = curve[static_cast<std::size_t>(std::min(default_width_, most)) - 1];
  if (measured >= ops) {
    if (ops <= 0) return {};
    // What passes outside ops stays as it is. Where a search found nothing to try, few ops were
    // ever sampled: the others are taken to be like them.
    const double in_ops = std::max(ops, std::min(1.0, coverage_.observed()) * measured);
    for (double& one : curve) one = one * in_ops / ops + (measured - in_ops);
  } else if (measured > 0) {
    // Ops are timed while they are watched, or were in an earlier run: where steps take less than
    // they took together, other numbers of cores are not slower than measured either.
    for (double& one : curve) one *= measured / ops;
  }
  return curve;
}

std::optional<Session::Settled> Session::State::take_settled() {
  if (!settled_ready_ || model_ == nullptr) return std::nullopt;
  settled_ready_ = false;
  Settled settled;
  StoredPlan& plan = settled.plan;
  plan.step_fingerprint = model_->fingerprint();
  plan.default_width = default_width_;
  plan.binding = in_force_.binding;
  plan.marker = model_->marker();
  plan.own_step_seconds =
      seconds(control_steps_.count() > 0 ? control_steps_.median() : own_steps_.median());
  if (replay_) {
    plan.own_step_seconds = replay_->own_step_seconds;
    plan.tuned_step_seconds = replay_->tuned_step_seconds;
  }
  for (std::size_t i = 0; i < candidates_.size(); ++i) {
    const bool chosen = candidates_[i].kind == in_force_.kind &&
                        candidates_[i].plan.widths == in_force_.plan.widths;
    if (chosen) plan.tuned_step_seconds = seconds(candidate_steps_[i].median());
  }
  for (const OpView& op : view(Detail::kWhole).ops) {
    StoredEntry entry;
    entry.place = op.place;
    entry.width = op.width;
    entry.rule = op.rule;
    entry.own_ns = static_cast<double>(op.own_time.count());
    entry.planned_ns = static_cast<double>(op.best_time.count());
    plan.entries.push_back(entry);
    const auto known = ops_.find(op.place.key);
    const bool named = known != ops_.end();
    for (const auto& [at, set] : op.profile.cases) {
      settled.profiles.push_back({op.place.key, named ? known->second.name : "",
                                  named ? known->second.shape : "", at, set.count(),
                                  static_cast<double>(set.median().count())});
    }
  }
  return settled;
}

}  // namespace optile::tuner
