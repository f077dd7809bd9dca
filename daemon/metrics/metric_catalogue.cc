#include "daemon/metrics/metric_catalogue.h"

#include <nlohmann/json.hpp>

namespace optile::daemon {
namespace {

constexpr MetricType kCounter = MetricType::kCounter;
constexpr MetricType kGauge = MetricType::kGauge;
constexpr std::array<const char*, kMaxLabels> kNone = {};
constexpr std::array<const char*, kMaxLabels> kOfClient = {"program", "client"};
constexpr std::array<const char*, kMaxLabels> kOfClientAndKind = {"program", "client", "kind"};
constexpr std::array<const char*, kMaxLabels> kOfOp = {"program", "op", "shape", "direction"};

constexpr std::array<MetricEntry, kMetrics> kCatalogue = {{
    {Metric::kBuildInfo,
     "optile_build_info",
     kGauge,
     "",
     {"version"},
     "Always 1; the label tells the version of the daemon."},
    {Metric::kClients,
     "optile_clients",
     kGauge,
     "",
     {"phase"},
     "Attached programs by phase of their tuning."},
    {Metric::kClientsAttachedTotal, "optile_clients_attached_total", kCounter, "", kNone,
     "Programs that attached since the daemon began."},
    {Metric::kClientsRefusedTotal, "optile_clients_refused_total", kCounter, "", kNone,
     "Programs that were refused: too many, or of another version. They run untuned."},
    {Metric::kLeaseHeldCores, "optile_lease_held_cores", kGauge, "", kNone,
     "Cores that programs with leases may be using; in turns a core counts by its fractions."},
    {Metric::kStoreState,
     "optile_store_state",
     kGauge,
     "",
     {"state"},
     "1 for where what is learned is kept: on_disk, in_memory or failing; 0 for the others."},
    {Metric::kStorePendingRecords, "optile_store_pending_records", kGauge, "", kNone,
     "Records that wait to be written to the store."},
    {Metric::kScrapeSeconds, "optile_scrape_seconds", kGauge, "seconds", kNone,
     "How long the daemon took to make the previous page of metrics."},
    {Metric::kSeries, "optile_series", kGauge, "", kNone, "Series on this page."},
    {Metric::kSeriesDropped, "optile_series_dropped", kGauge, "", kNone,
     "Series left out of this page because of the cap."},
    {Metric::kProcessCpuSecondsTotal, "process_cpu_seconds_total", kCounter, "seconds", kNone,
     "Processor time of the daemon, user and system."},
    {Metric::kProcessResidentBytes, "process_resident_memory_bytes", kGauge, "bytes", kNone,
     "Resident memory of the daemon."},
    {Metric::kClientSpeedup, "optile_client_speedup_ratio", kGauge, "ratio", kOfClientAndKind,
     "Step time before over step time tuned: against control steps of this run (control), or "
     "against an untouched run of the same program (separate_run). Above 1: faster."},
    {Metric::kClientSpeedupBound,
     "optile_client_speedup_bound_ratio",
     kGauge,
     "ratio",
     {"program", "client", "kind", "bound"},
     "The low and the high end of that ratio's 95 % interval."},
    {Metric::kClientSpeedupSteps,
     "optile_client_speedup_steps",
     kGauge,
     "",
     {"program", "client", "kind", "side"},
     "Steps that the ratio rests on, before and after."},
    {Metric::kClientSpeedupDisturbed, "optile_client_speedup_disturbed", kGauge, "",
     kOfClientAndKind,
     "1 where something makes the ratio worth less, such as others that kept cores busy; the "
     "report says what."},
    {Metric::kClientStepSeconds, "optile_client_step_seconds", kGauge, "seconds", kOfClientAndKind,
     "Mean time of a step: at the program's default widths (own), at the best single width "
     "(uniform), under the plan in force (tuned), of an untouched run (baseline)."},
    {Metric::kClientStepsTotal, "optile_client_steps_total", kCounter, "", kOfClient,
     "Whole steps, unsampled ones included."},
    {Metric::kClientSamplingLostSeconds, "optile_client_sampling_lost_seconds", kGauge, "seconds",
     kOfClient,
     "What the search has cost this run so far: sampled steps less as many ordinary ones."},
    {Metric::kOpSecondsTotal, "optile_op_seconds_total", kCounter, "seconds", kOfOp,
     "Time inside the op, over all attached runs of the program. What has no series of its own "
     "is under op=\"other\"."},
    {Metric::kOpExecutionsTotal, "optile_op_executions_total", kCounter, "", kOfOp,
     "Executions of the op that were watched, over all attached runs of the program."},
    {Metric::kOpWidth, "optile_op_width", kGauge, "", kOfOp,
     "Threads that the op runs with under the plans in force; the most, where places differ."},
    {Metric::kClientPhase,
     "optile_client_phase",
     kGauge,
     "",
     {"program", "client", "phase"},
     "1 for the phase that the tuning of this program is in, 0 for the others."},
    {Metric::kClientId, "optile_client_id", kGauge, "", kOfClient,
     "Number of this client for `optile ops --client`; the label is a place that is used again."},
    {Metric::kClientSecondsInSteps, "optile_client_seconds_in_steps", kGauge, "seconds", kOfClient,
     "Time of all whole steps; unsampled ones count as the median."},
    {Metric::kClientCoverage, "optile_client_coverage_ratio", kGauge, "ratio", kOfClientAndKind,
     "Share of a step's time inside ops that were observed, and inside those that can be "
     "steered."},
    {Metric::kClientRollbacksTotal,
     "optile_client_rollbacks_total",
     kCounter,
     "",
     {"program", "client", "what"},
     "What lost against the program's default widths and was taken back: a whole plan, or an op."},
    {Metric::kClientSlowLeasesTotal, "optile_client_slow_leases_total", kCounter, "", kOfClient,
     "Leases that were taken back: the program was far slower on them than predicted."},
    {Metric::kClientControlSecondsTotal, "optile_client_control_seconds_total", kCounter, "seconds",
     kOfClient, "Time of those steps."},
    {Metric::kClientLeasedCores, "optile_client_leased_cores", kGauge, "", kOfClient,
     "Cores of the program's lease, in turns its fraction of one; no series without a lease."},
    {Metric::kClientLeaseProgress, "optile_client_lease_progress", kGauge, "", kOfClientAndKind,
     "Throughput with the lease over that alone at its own best, measured or predicted: how fairly "
     "cores are divided. No series while nothing is known of it."},
    {Metric::kClientOps, "optile_client_ops", kGauge, "", kOfClient,
     "Places of ops in a step of the program."},
    {Metric::kClientSteeredOps, "optile_client_steered_ops", kGauge, "", kOfClient,
     "Places whose width the plan changes."},
    {Metric::kClientShimSeconds, "optile_client_shim_seconds", kGauge, "seconds", kOfClient,
     "Time that the shim took inside the program, as it counts it."},
    {Metric::kClientEventsTotal,
     "optile_client_events_total",
     kCounter,
     "",
     {"program", "client", "result"},
     "Events by what became of them: read, dropped (ring full) or rejected (no sense)."},
}};

constexpr bool in_order() {
  for (std::size_t i = 0; i < kMetrics; ++i) {
    if (static_cast<std::size_t>(kCatalogue[i].metric) != i) return false;
  }
  return true;
}
static_assert(in_order(), "the table is indexed by the metric");

}  // namespace

std::size_t MetricEntry::label_count() const {
  std::size_t count = 0;
  while (count < kMaxLabels && labels[count] != nullptr) ++count;
  return count;
}

std::span<const MetricEntry, kMetrics> metric_catalogue() {
  return kCatalogue;
}

const MetricEntry& metric_entry(Metric metric) {
  return kCatalogue[static_cast<std::size_t>(metric)];
}

std::string metric_catalogue_json() {
  nlohmann::ordered_json all = nlohmann::ordered_json::array();
  for (const MetricEntry& entry : kCatalogue) {
    nlohmann::ordered_json labels = nlohmann::ordered_json::array();
    for (std::size_t i = 0; i < entry.label_count(); ++i) labels.push_back(entry.labels[i]);
    all.push_back({{"name", entry.name},
                   {"type", entry.type == MetricType::kCounter ? "counter" : "gauge"},
                   {"unit", entry.unit},
                   {"labels", std::move(labels)},
                   {"help", entry.help}});
  }
  return all.dump(2);
}

}  // namespace optile::daemon
