#include "daemon/step_times.h"

#include "daemon/json_views.h"

namespace optile::daemon {
namespace {

// Median of a set of steps, where there are enough.
std::optional<double> measured(const perfmodel::SampleSet& steps) {
  if (steps.count() < kLeastSteps) return std::nullopt;
  const double seconds = seconds_of(steps.median());
  return seconds > 0 ? std::optional(seconds) : std::nullopt;
}

bool same_program(const RunRecord& run, const ClientView& client) {
  return run.conditions.program.arguments == client.hello.arguments;
}

// The newest untouched run of the same program with the same arguments.
std::optional<RunRecord> separate_baseline(const std::vector<RunRecord>& earlier,
                                           const ClientView& client) {
  for (const RunRecord& run : earlier) {
    if (run.kind == RunKind::kBaseline && same_program(run, client) && run.step_seconds > 0 &&
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

std::optional<double> earlier_own(const std::vector<RunRecord>& earlier, const ClientView& client,
                                  const std::string& launch_plan) {
  for (const RunRecord& run : earlier) {
    if (run.kind != RunKind::kBaseline && same_program(run, client) &&
        run.conditions.launch_plan == launch_plan && run.own_step_seconds > 0 &&
        run.own_steps >= static_cast<int>(kLeastSteps)) {
      return run.own_step_seconds;
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
    times.untouched = run->step_seconds;
    times.untouched_spread = run->spread;
  }
  const std::string kept = without_blas(client.hello.launch_plan);
  if (!kept.empty()) times.without_blas = earlier_own(earlier, client, kept);
  return times;
}

std::optional<double> ratio_of(std::optional<double> before, std::optional<double> after) {
  if (!before || !after) return std::nullopt;
  return *before / *after;
}

}  // namespace optile::daemon
