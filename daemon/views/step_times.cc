#include "daemon/views/step_times.h"

#include <algorithm>
#include <cmath>

#include "daemon/support/step_sketch.h"
#include "daemon/views/json_views.h"

namespace optile::daemon {
namespace {

constexpr std::size_t kFewSteps = 10;

std::string few_steps(std::size_t steps) {
  return "a side of the comparison has " + std::to_string(steps) + " steps only";
}

// Of this run.
std::vector<std::string> disturbances_now(const ClientView& client) {
  std::vector<std::string> found;
  const int own = client.header ? client.header->default_width : 0;
  if (client.default_width_cap > 0 && client.default_width_cap < own) {
    found.push_back("it had " + std::to_string(client.default_width_cap) + " of " +
                    std::to_string(own) + " cores, beside other programs or by a budget");
  }
  if (!client.co_runner_load.empty()) found.push_back(client.co_runner_load);
  return found;
}

// Where there are enough.
std::optional<StepTime> measured(const perfmodel::SampleSet& steps,
                                 const std::vector<std::string>& disturbances) {
  if (steps.count() < kLeastSteps) return std::nullopt;
  const StepTime time = {seconds_of(steps.mean()), steps.count(), relative_mean_error(steps),
                         disturbances};
  return time.seconds > 0 ? std::optional(time) : std::nullopt;
}

bool same_program(const RunRecord& run, const ClientView& client) {
  return run.conditions.program.arguments == client.attach_request.arguments;
}

StepTime time_of(const RunRecord& run, const char* which, double seconds, int steps) {
  StepTime time = {seconds, static_cast<std::size_t>(steps), run.spread, {}};
  if (!run.disturbed.empty()) time.disturbances.push_back(which + run.disturbed);
  return time;
}

// The newest untouched run of the same program with the same arguments: one of `optile baseline`,
// or one that was only watched and had no launch plan.
void find_untouched(const std::vector<RunRecord>& earlier, const ClientView& client,
                    StepTimes& times) {
  const StepSketch now = StepSketch::of(*client.session);
  for (const RunRecord& run : earlier) {
    const bool usable = run.untouched && same_program(run, client) && run.step_seconds > 0 &&
                        run.steps >= static_cast<int>(kLeastSteps);
    if (!usable) continue;
    if (may_be_same_step(run.step, now)) {
      times.untouched = time_of(run, "in the untouched run ", run.step_seconds, run.steps);
      times.incomparable.clear();
      return;
    }
    if (!times.incomparable.empty()) continue;
    times.incomparable = "the steps of the untouched run consist of other ops (" +
                         std::to_string(run.step.ops) + " there, " + std::to_string(now.ops) +
                         " here)";
  }
}

// The same launch plan with the BLAS pool left alone; "" when it is left alone already.
std::string without_blas(const std::string& launch_plan) {
  const std::string blas = perfmodel::launch_option(launch_plan, "blas");
  if (blas.empty() || blas == "keep") return "";
  std::string text = launch_plan;
  text.replace(text.find("blas=" + blas), 5 + blas.size(), "blas=keep");
  return text;
}

// At the program's default widths and on all of its cores: what fewer cores cost is no matter of
// plans.
std::optional<StepTime> own_for_launch(const ClientView& client, const StepTimes& times,
                                       const std::vector<RunRecord>& earlier) {
  const bool in_force = client.session->default_widths_in_force && times.tuned;
  const std::optional<StepTime>& here = in_force ? times.tuned : times.own;
  if (here && client.default_width_cap == 0) return here;
  return earlier_own(earlier, client, client.attach_request.launch_plan);
}

void add_once(std::vector<std::string>& all, const std::vector<std::string>& more) {
  for (const std::string& one : more) {
    if (std::find(all.begin(), all.end(), one) == all.end()) all.push_back(one);
  }
}

}  // namespace

std::optional<StepTime> earlier_own(const std::vector<RunRecord>& earlier, const ClientView& client,
                                    const std::string& launch_plan) {
  const StepSketch now = StepSketch::of(*client.session);
  for (const RunRecord& run : earlier) {
    if (run.kind != RunKind::kBaseline && same_program(run, client) &&
        run.conditions.launch_plan == launch_plan && run.own_step_seconds > 0 &&
        run.own_steps >= static_cast<int>(kLeastSteps) && may_be_same_step(run.step, now)) {
      return time_of(run, "in an earlier run ", run.own_step_seconds, run.own_steps);
    }
  }
  return std::nullopt;
}

StepTimes step_times(const ClientView& client, const std::vector<RunRecord>& earlier) {
  StepTimes times;
  const tuner::SessionView& session = *client.session;
  const std::vector<std::string> now = disturbances_now(client);
  // Steps that ran as the tuned ones do, where there are enough; others were watched op by op.
  times.own = measured(session.control_steps, now);
  if (!times.own) times.own = measured(session.own_steps, now);
  times.uniform = measured(session.uniform_steps, now);
  if (acts(client.attach_request)) times.tuned = measured(session.tuned_steps, now);
  // Where the plan changes no width, tuned steps are steps at the program's default widths, and the
  // undisturbed ones: the controls of the search ran among trials, watched op by op.
  if (session.default_widths_in_force && times.tuned) {
    if (times.own) times.own = times.tuned;
    times.uniform.reset();
  }
  if (client.attach_request.baseline) {
    times.untouched = times.own;
    times.own.reset();
    times.uniform.reset();
    times.tuned.reset();
    return times;
  }
  times.present = times.tuned;
  if (!times.present && acts(client.attach_request) && session.steerable_share <= 0) {
    times.present = times.own;
  }
  find_untouched(earlier, client, times);
  const std::string kept = without_blas(client.attach_request.launch_plan);
  if (!kept.empty()) times.without_blas = earlier_own(earlier, client, kept);
  return times;
}

std::optional<Factor> factor_of(const std::optional<StepTime>& before,
                                const std::optional<StepTime>& after) {
  if (!before || !after) return std::nullopt;
  const double value = before->seconds / after->seconds;
  const double spread = 1 + std::hypot(before->spread, after->spread);
  Factor factor = {value, value / spread, value * spread, before->steps, after->steps, {}};
  add_once(factor.disturbances, before->disturbances);
  add_once(factor.disturbances, after->disturbances);
  const std::size_t fewest = std::min(before->steps, after->steps);
  if (fewest < kFewSteps) add_once(factor.disturbances, {few_steps(fewest)});
  return factor;
}

std::optional<Factor> speedup_of(const StepTimes& times) {
  return times.untouched ? factor_of(times.untouched, times.present)
                         : factor_of(times.own, times.tuned);
}

std::optional<Factor> launch_plan_factor_of(const ClientView& client, const StepTimes& times,
                                            const std::vector<RunRecord>& earlier) {
  if (perfmodel::keeps_everything(client.attach_request.launch_plan)) return std::nullopt;
  return factor_of(times.untouched, times.without_blas ? times.without_blas
                                                       : own_for_launch(client, times, earlier));
}

std::optional<Factor> blas_pool_factor_of(const ClientView& client, const StepTimes& times,
                                          const std::vector<RunRecord>& earlier) {
  return factor_of(times.without_blas, own_for_launch(client, times, earlier));
}

std::vector<std::string> disturbances(const StepTimes& times) {
  std::vector<std::string> found;
  std::size_t fewest = kFewSteps;
  for (const auto* side : {&times.untouched, &times.own, &times.tuned}) {
    if (!*side) continue;
    add_once(found, (*side)->disturbances);
    fewest = std::min(fewest, (*side)->steps);
  }
  if (fewest < kFewSteps) add_once(found, {few_steps(fewest)});
  return found;
}

}  // namespace optile::daemon
