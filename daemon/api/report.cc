#include "daemon/api/report.h"

#include <optional>

#include "bindings/abi/api_fields.h"
#include "daemon/views/step_times.h"

namespace optile::daemon {
namespace {

Json factor_json(const std::optional<Factor>& factor) {
  if (!factor) return nullptr;
  return {{field::kValue, factor->value},
          {field::kLow, factor->low},
          {field::kHigh, factor->high},
          {field::kStepsBefore, factor->steps_before},
          {field::kStepsAfter, factor->steps_after},
          {field::kDisturbed, factor->disturbances}};
}

Json number(const std::optional<StepTime>& time) {
  return time ? Json(time->seconds) : Json(nullptr);
}

Json value_of(const Json& factor) {
  return factor.is_null() ? factor : factor[field::kValue];
}

Json factors_of(const ClientView& client, const StepTimes& times,
                const std::vector<RunRecord>& earlier) {
  return {{field::kSpeedup, factor_json(speedup_of(times))},
          {field::kLaunchPlan, factor_json(launch_plan_factor_of(client, times, earlier))},
          {field::kBlasPool, factor_json(blas_pool_factor_of(client, times, earlier))},
          {field::kUniformWidth, factor_json(factor_of(times.own, times.uniform))},
          {field::kWidthPerOp, factor_json(factor_of(times.uniform, times.tuned))},
          // Where no uniform width was compared, the two together.
          {field::kWidths, factor_json(factor_of(times.own, times.tuned))}};
}

Json no_factors() {
  Json factors;
  for (const char* name : {field::kSpeedup, field::kLaunchPlan, field::kBlasPool,
                           field::kUniformWidth, field::kWidthPerOp, field::kWidths}) {
    factors[name] = nullptr;
  }
  return factors;
}

void add_times(Json& json, const ClientView& client, const std::vector<RunRecord>& earlier) {
  const StepTimes times = step_times(client, earlier);
  const bool separate = times.untouched.has_value();
  const std::optional<StepTime> baseline = separate ? times.untouched : times.own;
  json[field::kStepSeconds] = {{field::kBaseline, number(baseline)},
                               {field::kTuned, number(times.tuned)},
                               {field::kPresent, number(times.present)}};
  json[field::kBaselineKind] =
      !baseline ? Json(nullptr) : Json(separate ? "separate_run" : "control");
  json[field::kFactors] = factors_of(client, times, earlier);
  json[field::kSpeedup] = value_of(json[field::kFactors][field::kSpeedup]);
  json[field::kDisturbed] = disturbances(times);
  json[field::kIncomparable] = text_or_null(times.incomparable);
}

}  // namespace

Json run_report(const ClientView& client, const std::vector<RunRecord>& earlier,
                const Store::State& store) {
  const ClientHeader header = client.header.value_or(ClientHeader());
  const tuner::SessionView session = client.session.value_or(tuner::SessionView());
  Json json = client_basics(client);
  json[field::kUnsampledSteps] = session.unsampled_steps;
  json[field::kDefaultWidth] = session.default_width;
  json[field::kUniformWidth] =
      session.uniform_width == 0 ? Json(nullptr) : Json(session.uniform_width);
  json[field::kGuard] = guard_json(session.guard);
  json[field::kSharing] = sharing_json(client);
  json[field::kCoverage] = {{field::kObserved, session.observed_share},
                            {field::kSteered, session.steerable_share}};
  json[field::kCounters] = perfmodel::counter_tier_name(header.counter_tier);
  json[field::kCounterReason] = text_or_null(counter_reason(header));
  json[field::kEventsDropped] = client.counters.dropped;
  json[field::kStepSeconds] = {
      {field::kBaseline, nullptr}, {field::kTuned, nullptr}, {field::kPresent, nullptr}};
  for (const char* unknown : {field::kBaselineKind, field::kSpeedup, field::kOverheadRatio}) {
    json[unknown] = nullptr;
  }
  json[field::kOps] = Json::array();
  const std::string wait = perfmodel::launch_option(client.attach_request.launch_plan, "wait");
  json[field::kWaitPolicy] = wait.empty() || wait == "keep" ? "default" : wait;
  json[field::kFactors] = no_factors();
  json[field::kDisturbed] = Json::array();
  json[field::kIncomparable] = nullptr;
  std::vector<std::string> fallbacks = fallback_texts(client);
  if (store.keeping != Store::Keeping::kOnDisk) {
    fallbacks.push_back("what was learned is not on disk: " + store.message);
  }
  json[field::kFallbacks] = std::move(fallbacks);
  if (!client.session) return json;

  add_times(json, client, earlier);
  if (session.seconds_in_steps > 0) {
    json[field::kOverheadRatio] =
        (session.seconds_lost_to_sampling + client.shim_seconds) / session.seconds_in_steps;
  }
  for (const tuner::OpView& op : session.ops) json[field::kOps].push_back(op_row(client, op));
  return json;
}

}  // namespace optile::daemon
