#include "daemon/metrics/client_metrics.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "daemon/metrics/label_text.h"
#include "daemon/views/json_views.h"

namespace optile::daemon {
namespace {

// Samples of one client: every one has the same first two labels.
class Writer {
 public:
  Writer(const ClientView& client, int place, std::vector<MetricSample>& samples)
      : program_(label_text(client.attach_request.program)),
        place_(std::to_string(place)),
        samples_(samples) {}

  void add(Metric metric, double value) { add(metric, "", value); }
  void add(Metric metric, const char* third, double value) {
    samples_.push_back({metric, {program_, place_, third, ""}, value});
  }
  void add(Metric metric, const char* third, std::optional<double> value) {
    if (value) add(metric, third, *value);
  }
  void add(Metric metric, const char* third, const char* fourth, double value) {
    samples_.push_back({metric, {program_, place_, third, fourth}, value});
  }
  void add_factor(const char* kind, const std::optional<Factor>& factor) {
    if (!factor) return;
    add(Metric::kClientSpeedup, kind, factor->value);
    add(Metric::kClientSpeedupBound, kind, "low", factor->low);
    add(Metric::kClientSpeedupBound, kind, "high", factor->high);
    add(Metric::kClientSpeedupSteps, kind, "before", static_cast<double>(factor->steps_before));
    add(Metric::kClientSpeedupSteps, kind, "after", static_cast<double>(factor->steps_after));
    add(Metric::kClientSpeedupDisturbed, kind, factor->disturbances.empty() ? 0 : 1);
  }

 private:
  std::string program_;
  std::string place_;
  std::vector<MetricSample>& samples_;
};

void add_guard(const tuner::GuardView& guard, Writer& writer) {
  const auto plans = std::count_if(guard.rollbacks.begin(), guard.rollbacks.end(),
                                   [](const auto& one) { return one.what == "plan"; });
  const auto all = static_cast<std::ptrdiff_t>(guard.rollbacks.size());
  writer.add(Metric::kClientRollbacksTotal, "plan", static_cast<double>(plans));
  writer.add(Metric::kClientRollbacksTotal, "op", static_cast<double>(all - plans));
  writer.add(Metric::kClientControlSecondsTotal, guard.control_seconds);
}

void add_session(const tuner::SessionView& session, Writer& writer) {
  writer.add(Metric::kClientStepsTotal, session.steps);
  writer.add(Metric::kClientSecondsInSteps, session.seconds_in_steps);
  writer.add(Metric::kClientSamplingLostSeconds, session.seconds_lost_to_sampling);
  writer.add(Metric::kClientCoverage, "observed", session.observed_share);
  writer.add(Metric::kClientCoverage, "steered", session.steerable_share);
  const auto steered = std::count_if(session.ops.begin(), session.ops.end(), [&](const auto& op) {
    return op.width != 0 && op.width != session.default_width;
  });
  writer.add(Metric::kClientOps, static_cast<double>(session.ops.size()));
  writer.add(Metric::kClientSteeredOps, static_cast<double>(steered));
  add_guard(session.guard, writer);
}

}  // namespace

std::vector<const char*> phase_names() {
  using tuner::Phase;
  std::vector<const char*> names = {"attaching"};
  for (const Phase phase : {Phase::kRecognising, Phase::kExploring, Phase::kComparing,
                            Phase::kTuned, Phase::kObserving}) {
    names.push_back(tuner::phase_name(phase));
  }
  return names;
}

const char* phase_of(const ClientView& client) {
  return client.session ? tuner::phase_name(client.session->phase) : "attaching";
}

void add_client_samples(const ClientView& client, const StepTimes& times, int place,
                        std::vector<MetricSample>& samples) {
  Writer writer(client, place, samples);
  writer.add_factor("control", factor_of(times.own, times.tuned));
  writer.add_factor("separate_run", factor_of(times.untouched, times.present));
  const auto mean = [](const std::optional<StepTime>& time) {
    return time ? std::optional(time->seconds) : std::nullopt;
  };
  writer.add(Metric::kClientStepSeconds, "own", mean(times.own));
  writer.add(Metric::kClientStepSeconds, "uniform", mean(times.uniform));
  writer.add(Metric::kClientStepSeconds, "tuned", mean(times.tuned));
  writer.add(Metric::kClientStepSeconds, "baseline", mean(times.untouched));
  const std::string phase = phase_of(client);
  for (const char* name : phase_names()) {
    writer.add(Metric::kClientPhase, name, phase == name ? 1.0 : 0.0);
  }
  writer.add(Metric::kClientId, static_cast<double>(client.id));
  writer.add(Metric::kClientShimSeconds, client.shim_seconds);
  const ReaderCounters& counters = client.counters;
  writer.add(Metric::kClientEventsTotal, "read", static_cast<double>(counters.read));
  writer.add(Metric::kClientEventsTotal, "dropped", static_cast<double>(counters.dropped));
  writer.add(Metric::kClientEventsTotal, "rejected", static_cast<double>(counters.rejected));
  writer.add(Metric::kClientSlowLeasesTotal, static_cast<double>(client.slow_leases.count));
  if (client.session) add_session(*client.session, writer);
}

}  // namespace optile::daemon
