#include "daemon/api/report.h"

#include <optional>

#include "daemon/views/step_times.h"

namespace optile::daemon {
namespace {

Json factor_json(const std::optional<Factor>& factor) {
  if (!factor) return nullptr;
  return {{"value", factor->value},
          {"low", factor->low},
          {"high", factor->high},
          {"steps_before", factor->steps_before},
          {"steps_after", factor->steps_after},
          {"disturbed", factor->disturbances}};
}

Json number(const std::optional<StepTime>& time) {
  return time ? Json(time->seconds) : Json(nullptr);
}

Json value_of(const Json& factor) {
  return factor.is_null() ? factor : factor["value"];
}

Json factors_of(const ClientView& client, const StepTimes& times,
                const std::vector<RunRecord>& earlier) {
  return {{"speedup", factor_json(speedup_of(times))},
          {"launch_plan", factor_json(launch_plan_factor_of(client, times, earlier))},
          {"blas_pool", factor_json(blas_pool_factor_of(client, times, earlier))},
          {"uniform_width", factor_json(factor_of(times.own, times.uniform))},
          {"width_per_op", factor_json(factor_of(times.uniform, times.tuned))},
          // Where no uniform width was compared, the two together.
          {"widths", factor_json(factor_of(times.own, times.tuned))}};
}

Json no_factors() {
  Json factors;
  for (const char* name :
       {"speedup", "launch_plan", "blas_pool", "uniform_width", "width_per_op", "widths"}) {
    factors[name] = nullptr;
  }
  return factors;
}

void add_times(Json& json, const ClientView& client, const std::vector<RunRecord>& earlier) {
  const StepTimes times = step_times(client, earlier);
  const bool separate = times.untouched.has_value();
  const std::optional<StepTime> baseline = separate ? times.untouched : times.own;
  json["step_seconds"] = {{"baseline", number(baseline)},
                          {"tuned", number(times.tuned)},
                          {"present", number(times.present)}};
  json["baseline_kind"] = !baseline ? Json(nullptr) : Json(separate ? "separate_run" : "control");
  json["factors"] = factors_of(client, times, earlier);
  json["speedup"] = value_of(json["factors"]["speedup"]);
  json["disturbed"] = disturbances(times);
  json["incomparable"] = text_or_null(times.incomparable);
}

}  // namespace

Json run_report(const ClientView& client, const std::vector<RunRecord>& earlier,
                const Store::State& store) {
  const ClientHeader header = client.header.value_or(ClientHeader());
  const tuner::SessionView session = client.session.value_or(tuner::SessionView());
  Json json = {
      {"program", client.attach_request.program},
      {"arguments", client.attach_request.arguments},
      {"executable", client.attach_request.executable},
      {"pid", client.attach_request.pid},
      {"mode", mode_name(client.attach_request.mode)},
      {"numerics", numerics_name(client.attach_request)},
      {"search", search_name(client.attach_request.search)},
      {"strategy", strategy_name(client.attach_request.strategy)},
      {"baseline_run", client.attach_request.baseline},
      {"phase", client.session ? tuner::phase_name(session.phase) : "attaching"},
      {"decision", session.decision},
      {"steps", session.steps},
      {"unwatched_steps", session.unwatched_steps},
      {"samples", session.samples},
      {"sampled_steps", session.sampled_steps},
      {"plan_replayed", session.plan_replayed},
      {"default_width", session.default_width},
      {"default_width_source", width_source_name(header.default_width_source)},
      {"uniform_width", session.uniform_width == 0 ? Json(nullptr) : Json(session.uniform_width)},
      {"guard", guard_json(session.guard)},
      {"sharing", sharing_json(client)},
      {"coverage", {{"observed", session.observed_share}, {"steered", session.steerable_share}}},
      {"counters", perfmodel::counter_tier_name(header.counter_tier)},
      {"counter_reason", text_or_null(counter_reason(header))},
      {"blas", blas_name(header)},
      {"blas_beside", blas_beside(header)},
      {"openmp_runtime", openmp_runtime_name(header.runtime)},
      {"launch_plan", client.attach_request.launch_plan},
      {"events_dropped", client.counters.dropped},
      {"step_seconds", {{"baseline", nullptr}, {"tuned", nullptr}, {"present", nullptr}}},
      {"baseline_kind", nullptr},
      {"speedup", nullptr},
      {"overhead_ratio", nullptr},
      {"ops", Json::array()},
  };
  const std::string wait = perfmodel::launch_word(client.attach_request.launch_plan, "wait");
  json["wait_policy"] = wait.empty() || wait == "keep" ? "default" : wait;
  json["factors"] = no_factors();
  json["disturbed"] = Json::array();
  json["incomparable"] = nullptr;
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
