#include "tuner/session/session_view.h"

#include <algorithm>
#include <map>
#include <string>

#include "tuner/session/plan_draft.h"
#include "tuner/session/session.h"

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

std::string decision_of(const ClientRecord& client, uint64_t steps) {
  if (!client.decision.empty() || client.phase != Phase::kRecognising) return client.decision;
  const StepModel* step = client.step.model();
  if (step == nullptr && pauses_unsteered(client)) return kUnsteeredText;
  if (step == nullptr) return no_step_yet(steps, client.environment.options().least_repeating);
  if (client.environment.default_width() == 0) return nothing_to_search(step->sites().size());
  return "";
}

// Without the evidence.
OpView view_of(const Site& site) {
  OpView op;
  op.place = site.place;
  op.per_step = site.per_step;
  op.rule = site.leave || cannot_be_set(site) ? Rule::kLeftAlone : Rule::kDefaultWidth;
  return op;
}

std::vector<OpView> views_of_ops(const ClientRecord& client, const PlanInForce& plan) {
  std::vector<OpView> views;
  std::map<perfmodel::OpPlace, const StoredEntry*> stored;
  if (const StoredPlan* replay = plan.replayed()) {
    for (const StoredEntry& entry : replay->entries) stored[entry.place] = &entry;
  }
  const WidthPlan& chosen = plan.chosen().plan;
  for (const Site& site : client.step.model()->sites()) {
    OpView op = view_of(site);
    const std::size_t i = views.size();
    if (const auto entry = stored.find(site.place); entry != stored.end()) {
      op.width = plan.width_of(*entry->second);
      op.rule = op.width != 0 ? Rule::kReplayed : entry->second->rule;
    } else if (client.phase == Phase::kTuned && i < chosen.widths.size()) {
      op.width = chosen.widths[i] < client.environment.default_width() ? chosen.widths[i] : 0;
      op.rule = chosen.rules[i];
    }
    views.push_back(std::move(op));
  }
  return views;
}

void add_times(const StepTimes& times, SessionView& view) {
  view.sampled_steps = times.sampled;
  view.own_steps = times.own;
  view.control_steps = times.control;
  view.uniform_steps = times.uniform;
  view.tuned_steps = times.tuned;
  view.observed_share = times.coverage.observed();
  view.steerable_share = times.coverage.steerable();
  const perfmodel::SampleSet& normal = times.tuned.count() > 0 ? times.tuned : times.own;
  view.seconds_in_steps =
      times.coverage.seconds() + view.unsampled_steps * seconds(normal.median());
  // Means of steps that took turns: what else the machine did was in both.
  const Nanoseconds without =
      times.trial_controls.count() > 0 ? times.trial_controls.mean() : normal.median();
  view.seconds_lost_to_sampling =
      std::max(0.0, times.sampled_seconds - times.sampled * seconds(without));
}

}  // namespace

SessionView Session::view(Detail detail) const {
  const ClientEnvironment& environment = client_.environment;
  SessionView view;
  view.phase = client_.phase;
  view.unsampled_steps = client_.steps.unsampled();
  view.steps = client_.steps.all();
  view.samples = client_.sampler.samples();
  view.plan_replayed = in_force_.plan.replay_verified();
  view.default_width = environment.default_width();
  if (view.phase == Phase::kTuned) view.binding = in_force_.plan.binding();
  view.decision = decision_of(client_, view.steps);
  view.guard = in_force_.guard.view();
  view.uniform_width = tuning_.comparison().uniform_width();
  view.switching_cost = environment.switching_cost().typical();
  view.switching_cost_measured = environment.switching_cost().measured();
  add_times(client_.times, view);
  const StepModel* step = client_.step.model();
  if (step == nullptr) return view;
  view.marker = step->marker();
  view.ops = views_of_ops(client_, in_force_.plan);
  if (detail == Detail::kWhole) {
    for (std::size_t i = 0; i < view.ops.size(); ++i) {
      add_evidence(step->sites()[i].samples, environment.own_case(), environment.bounded(),
                   view.binding, view.ops[i]);
    }
  }
  view.default_widths_in_force = session_summary().default_widths_in_force;
  return view;
}

SessionSummary Session::session_summary() const {
  const StepTimes& times = client_.times;
  SessionSummary summary;
  summary.phase = client_.phase;
  summary.step_number = client_.step.steps_found();
  if (const StepModel* step = client_.step.model()) summary.step_fingerprint = step->fingerprint();
  summary.tuned_steps = times.tuned.count();
  summary.tuned_step = times.tuned.median();
  summary.steps_here = times.tuned.count() + times.own.count();
  if (summary.phase != Phase::kTuned) return summary;
  summary.default_widths_in_force = in_force_.plan.keeps_default_widths();
  summary.has_use_for_more = has_enough_steps(client_) && in_force_.plan.has_wide_ops();
  return summary;
}

std::optional<Session::Settled> Session::take_settled() {
  const bool settled_now =
      client_.step.model() != nullptr && std::exchange(in_force_.settled, false);
  if (!settled_now) return std::nullopt;
  const StepTimes& times = client_.times;
  const Candidate& chosen = in_force_.plan.chosen();
  Settled settled;
  StoredPlan& plan = settled.plan;
  plan.step_fingerprint = client_.step.model()->fingerprint();
  plan.default_width = client_.environment.default_width();
  plan.binding = chosen.binding;
  if (chosen.flow.admits()) plan.flow = chosen.flow;
  plan.marker = client_.step.model()->marker();
  plan.own_step_seconds =
      seconds(times.control.count() > 0 ? times.control.median() : times.own.median());
  if (const StoredPlan* replay = in_force_.plan.replayed()) {
    plan.own_step_seconds = replay->own_step_seconds;
    plan.tuned_step_seconds = replay->tuned_step_seconds;
    plan.flow = replay->flow;
  }
  if (const auto compared = tuning_.comparison().seconds_of(chosen)) {
    plan.tuned_step_seconds = *compared;
  }
  for (const OpView& op : view(Detail::kWhole).ops) {
    plan.entries.push_back({op.place, op.width, op.rule, static_cast<double>(op.own_time.count()),
                            static_cast<double>(op.best_time.count())});
    const perfmodel::OpDescription* known = client_.environment.find_op(op.place.key);
    for (const auto& [at, set] : op.profile.cases) {
      settled.profiles.push_back({op.place.key, known != nullptr ? known->name : "",
                                  known != nullptr ? known->shape : "", at, set.count(),
                                  static_cast<double>(set.median().count())});
    }
  }
  return settled;
}

}  // namespace optile::tuner
