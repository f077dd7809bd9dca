#include "daemon/report.h"

#include <cmath>
#include <optional>

#include "daemon/step_times.h"

namespace optile::daemon {
namespace {

Json ratio(std::optional<double> before, std::optional<double> after) {
  const std::optional<double> known = ratio_of(before, after);
  return known ? Json(*known) : Json(nullptr);
}

Json number(std::optional<double> value) {
  return value ? Json(*value) : Json(nullptr);
}

Json parts_of(const StepTimes& times, std::optional<double> own_for_launch) {
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
  const StepTimes times = step_times(client, earlier);
  const bool separate = times.untouched.has_value();
  const std::optional<double> baseline = separate ? times.untouched : times.own;
  json["step_seconds"] = {{"baseline", number(baseline)}, {"tuned", number(times.tuned)}};
  json["baseline_kind"] = !baseline ? Json(nullptr) : Json(separate ? "separate_run" : "control");
  json["speedup"] = ratio(baseline, times.tuned);
  const double spread_before =
      separate ? times.untouched_spread : relative_median_error(session.own_steps);
  json["speedup_spread"] =
      json["speedup"].is_null()
          ? Json(nullptr)
          : Json(std::hypot(spread_before, relative_median_error(session.tuned_steps)));
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
      {"numerics", numerics_name(client.hello)},
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
      {"sharing", sharing_json(client)},
      {"coverage", {{"observed", session.observed_share}, {"steered", session.steerable_share}}},
      {"counters", perfmodel::counter_tier_name(header.counter_tier)},
      {"counter_reason", text_or_null(counter_reason(header))},
      {"blas", blas_name(header)},
      {"blas_beside", blas_beside(header)},
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
  const std::string wait = perfmodel::launch_word(client.hello.launch_plan, "wait");
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
