#include "daemon/report.h"

#include <cmath>
#include <optional>

namespace optile::daemon {
namespace {

// Median of a set of steps, where there are enough.
std::optional<double> measured(const perfmodel::SampleSet& steps) {
  if (steps.count() < kLeastSteps) return std::nullopt;
  const double seconds = seconds_of(steps.median());
  return seconds > 0 ? std::optional(seconds) : std::nullopt;
}

Json ratio(std::optional<double> before, std::optional<double> after) {
  return before && after ? Json(*before / *after) : Json(nullptr);
}

Json number(std::optional<double> value) {
  return value ? Json(*value) : Json(nullptr);
}

double spread_of(const perfmodel::SampleSet& steps) {
  const double median = seconds_of(steps.median());
  if (median <= 0 || steps.median_error() == perfmodel::Nanoseconds::max()) return 0;
  return seconds_of(steps.median_error()) / median;
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

// Step time at the program's own widths under a launch plan, from an earlier run.
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

// The same launch plan with the BLAS pool left alone; "" when it is left alone already.
std::string without_blas(const std::string& launch_plan) {
  const std::string blas = launch_word(launch_plan, "blas");
  if (blas.empty() || blas == "keep") return "";
  std::string text = launch_plan;
  text.replace(text.find("blas=" + blas), 5 + blas.size(), "blas=keep");
  return text;
}

struct Times {
  std::optional<double> untouched;  // separate run
  std::optional<double> without_blas;
  std::optional<double> own;  // own widths, this launch plan
  std::optional<double> uniform;
  std::optional<double> tuned;
  double untouched_spread = 0;
};

Times times_of(const ClientView& client, const std::vector<RunRecord>& earlier) {
  Times times;
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

Json parts_of(const Times& times, std::optional<double> own_for_launch) {
  Json parts;
  parts["launch_plan"] =
      ratio(times.untouched, times.without_blas ? times.without_blas : own_for_launch);
  parts["blas_pool"] = ratio(times.without_blas, own_for_launch);
  parts["uniform_width"] = ratio(times.own, times.uniform);
  parts["width_per_op"] = ratio(times.uniform, times.tuned);
  // Where no uniform width was compared, the two together.
  parts["widths"] = ratio(times.own, times.tuned);
  return parts;
}

void add_times(Json& json, const ClientView& client, const std::vector<RunRecord>& earlier) {
  const tuner::SessionView& session = *client.session;
  const Times times = times_of(client, earlier);
  const bool separate = times.untouched.has_value();
  const std::optional<double> baseline = separate ? times.untouched : times.own;
  json["step_seconds"] = {{"baseline", number(baseline)}, {"tuned", number(times.tuned)}};
  json["baseline_kind"] = !baseline ? Json(nullptr) : Json(separate ? "separate_run" : "control");
  json["speedup"] = ratio(baseline, times.tuned);
  const double spread_before = separate ? times.untouched_spread : spread_of(session.own_steps);
  json["speedup_spread"] = json["speedup"].is_null()
                               ? Json(nullptr)
                               : Json(std::hypot(spread_before, spread_of(session.tuned_steps)));
  std::optional<double> own_for_launch = times.own;
  if (session.own_widths_in_force && times.tuned) own_for_launch = times.tuned;
  if (!own_for_launch) own_for_launch = earlier_own(earlier, client, client.hello.launch_plan);
  json["parts"] = parts_of(times, own_for_launch);
}

}  // namespace

Json run_report(const ClientView& client, const std::vector<RunRecord>& earlier,
                const Store::State& store) {
  const ClientHeader header = client.header.value_or(ClientHeader());
  const tuner::SessionView session = client.session.value_or(tuner::SessionView());
  Json json = {
      {"program", client.hello.program},
      {"arguments", client.hello.arguments},
      {"executable", client.hello.executable},
      {"pid", client.hello.pid},
      {"mode", mode_name(client.hello.mode)},
      {"search", search_name(client.hello.search)},
      {"strategy", strategy_name(client.hello.strategy)},
      {"baseline_run", client.hello.baseline},
      {"phase", client.session ? tuner::phase_name(session.phase) : "attaching"},
      {"decision", session.decision},
      {"steps", session.steps},
      {"unwatched_steps", session.unwatched_steps},
      {"samples", session.samples},
      {"sampled_steps", session.sampled_steps},
      {"plan_replayed", session.plan_replayed},
      {"own_width", session.own_width},
      {"own_width_source", width_source_name(header.own_width_source)},
      {"uniform_width", session.uniform_width == 0 ? Json(nullptr) : Json(session.uniform_width)},
      {"guard", guard_json(session.guard)},
      {"coverage", {{"observed", session.observed_share}, {"steered", session.steerable_share}}},
      {"counters", "none"},
      {"blas", blas_name(header)},
      {"openmp_runtime", openmp_runtime_name(header.runtime)},
      {"launch_plan", client.hello.launch_plan},
      {"events_dropped", client.counters.dropped},
      {"step_seconds", {{"baseline", nullptr}, {"tuned", nullptr}}},
      {"baseline_kind", nullptr},
      {"speedup", nullptr},
      {"speedup_spread", nullptr},
      {"overhead_ratio", nullptr},
      {"ops", Json::array()},
  };
  const std::string wait = launch_word(client.hello.launch_plan, "wait");
  json["wait_policy"] = wait.empty() || wait == "keep" ? "default" : wait;
  json["parts"] = parts_of({}, std::nullopt);
  std::vector<std::string> fallbacks = fallback_texts(client);
  if (store.keeping != Store::Keeping::kOnDisk) {
    fallbacks.push_back("what was learned is not on disk: " + store.message);
  }
  json["fallbacks"] = std::move(fallbacks);
  if (!client.session) return json;

  add_times(json, client, earlier);
  if (session.seconds_in_steps > 0) {
    json["overhead_ratio"] =
        (session.seconds_lost_to_sampling + client.shim_seconds) / session.seconds_in_steps;
  }
  for (const tuner::OpView& op : session.ops) json["ops"].push_back(op_row(client, op));
  return json;
}

}  // namespace optile::daemon
