#include "daemon/step_times.h"

#include <cmath>

#include "daemon/json_views.h"

namespace optile::daemon {
namespace {

constexpr std::size_t kFewSteps = 10;

// Where there are enough.
std::optional<StepTime> measured(const perfmodel::SampleSet& steps) {
  if (steps.count() < kLeastSteps) return std::nullopt;
  const StepTime time = {seconds_of(steps.median()), steps.count(), relative_median_error(steps)};
  return time.seconds > 0 ? std::optional(time) : std::nullopt;
}

// Nothing was changed in that run: neither a width nor what is chosen before a start.
bool was_untouched(const RunRecord& run) {
  if (run.kind == RunKind::kBaseline) return true;
  const std::string& plan = run.conditions.launch_plan;
  if (run.kind != RunKind::kObserve || plan.empty()) return false;
  const auto is_kept = [&plan](const char* word) {
    const std::string choice = perfmodel::launch_word(plan, word);
    return choice.empty() || choice == "keep";
  };
  return is_kept("openmp") && is_kept("wait") && is_kept("blas") && is_kept("heap");
}

bool same_program(const RunRecord& run, const ClientView& client) {
  return run.conditions.program.arguments == client.hello.arguments;
}

// The newest untouched run of the same program with the same arguments: one of `optile baseline`,
// or one that was only observed and had no launch plan.
std::optional<RunRecord> separate_baseline(const std::vector<RunRecord>& earlier,
                                           const ClientView& client) {
  for (const RunRecord& run : earlier) {
    if (was_untouched(run) && same_program(run, client) && run.step_seconds > 0 &&
        run.steps >= static_cast<int>(kLeastSteps)) {
      return run;
    }
  }
  return std::nullopt;
}

// The same launch plan with the BLAS pool left alone; "" when it is left alone already.
std::string without_blas(const std::string& launch_plan) {
  const std::string blas = perfmodel::launch_word(launch_plan, "blas");
  if (blas.empty() || blas == "keep") return "";
  std::string text = launch_plan;
  text.replace(text.find("blas=" + blas), 5 + blas.size(), "blas=keep");
  return text;
}

}  // namespace

std::optional<StepTime> earlier_own(const std::vector<RunRecord>& earlier, const ClientView& client,
                                    const std::string& launch_plan) {
  for (const RunRecord& run : earlier) {
    if (run.kind != RunKind::kBaseline && same_program(run, client) &&
        run.conditions.launch_plan == launch_plan && run.own_step_seconds > 0 &&
        run.own_steps >= static_cast<int>(kLeastSteps)) {
      return StepTime{run.own_step_seconds, static_cast<std::size_t>(run.own_steps), run.spread};
    }
  }
  return std::nullopt;
}

StepTimes step_times(const ClientView& client, const std::vector<RunRecord>& earlier) {
  StepTimes times;
  const tuner::SessionView& session = *client.session;
  // Steps that ran as the tuned ones do, where there are enough; others were watched op by op.
  times.own = measured(session.control_steps);
  if (!times.own) times.own = measured(session.own_steps);
  times.uniform = measured(session.uniform_steps);
  if (client.hello.mode != OPTILE_MODE_OBSERVE && client.hello.mode != OPTILE_MODE_ADVISE) {
    times.tuned = measured(session.tuned_steps);
  }
  // Where the plan changes no width, tuned steps are steps at the program's own widths, and the
  // undisturbed ones: the controls of the search ran among trials, watched op by op.
  if (session.own_widths_in_force && times.tuned) {
    if (times.own) times.own = times.tuned;
    times.uniform.reset();
  }
  if (client.hello.baseline) {
    times.untouched = times.own;
    times.own.reset();
    times.uniform.reset();
    times.tuned.reset();
    return times;
  }
  if (const std::optional<RunRecord> run = separate_baseline(earlier, client)) {
    times.untouched =
        StepTime{run->step_seconds, static_cast<std::size_t>(run->steps), run->spread};
  }
  const std::string kept = without_blas(client.hello.launch_plan);
  if (!kept.empty()) times.without_blas = earlier_own(earlier, client, kept);
  return times;
}

std::optional<Factor> factor_of(const std::optional<StepTime>& before,
                                const std::optional<StepTime>& after) {
  if (!before || !after) return std::nullopt;
  const double value = before->seconds / after->seconds;
  const double spread = 1 + std::hypot(before->spread, after->spread);
  return Factor{value, value / spread, value * spread, before->steps, after->steps};
}

std::vector<std::string> disturbances(const ClientView& client, const StepTimes& times) {
  std::vector<std::string> found;
  const int own = client.header ? client.header->own_width : 0;
  if (client.own_width_cap > 0 && client.own_width_cap < own) {
    found.push_back("it had " + std::to_string(client.own_width_cap) + " of " +
                    std::to_string(own) + " cores, beside other programs or by a budget");
  }
  for (const auto* side : {&times.untouched, &times.own, &times.tuned}) {
    if (!*side || (*side)->steps >= kFewSteps) continue;
    found.push_back("a side of the comparison has " + std::to_string((*side)->steps) +
                    " steps only");
    break;
  }
  return found;
}

}  // namespace optile::daemon
