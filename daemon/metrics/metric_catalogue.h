// Every metric there is, in one table: what /metrics shows, what docs/reference/metrics.md lists,
// and what dashboards and rules may use. The order is the order of importance: when the cap on
// series is met, the last families go first. Pure; any thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace optile::daemon {

enum class MetricType : uint8_t { kCounter, kGauge };

enum class Metric : uint8_t {
  kBuildInfo,
  kClients,
  kClientsAttachedTotal,
  kClientsRefusedTotal,
  kLeaseHeldCores,
  kStoreState,
  kStorePendingRecords,
  kScrapeSeconds,
  kSeries,
  kSeriesDropped,
  kProcessCpuSecondsTotal,
  kProcessResidentBytes,
  kClientSpeedup,
  kClientSpeedupBound,
  kClientSpeedupSteps,
  kClientSpeedupDisturbed,
  kClientStepSeconds,
  kClientStepsTotal,
  kClientSamplingLostSeconds,
  kOpSecondsTotal,
  kOpExecutionsTotal,
  kOpWidth,
  kClientPhase,
  kClientId,
  kClientSecondsInSteps,
  kClientCoverage,
  kClientRollbacksTotal,
  kClientSlowLeasesTotal,
  kClientControlSecondsTotal,
  kClientLeasedCores,
  kClientLeaseProgress,
  kClientOps,
  kClientSteeredOps,
  kClientShimSeconds,
  kClientEventsTotal,
};
inline constexpr std::size_t kMetrics = static_cast<std::size_t>(Metric::kClientEventsTotal) + 1;
inline constexpr std::size_t kMaxLabels = 4;

struct MetricEntry {
  Metric metric;
  const char* name;
  MetricType type;
  const char* unit;                            // "seconds", "bytes", "ratio" or "" for a number
  std::array<const char*, kMaxLabels> labels;  // names, null behind the last
  const char* help;

  std::size_t label_count() const;
};

// Index = the metric's number.
std::span<const MetricEntry, kMetrics> metric_catalogue();
const MetricEntry& metric_entry(Metric metric);

// One sample; labels in the order of the entry.
struct MetricSample {
  Metric metric = Metric::kBuildInfo;
  std::array<std::string, kMaxLabels> labels;
  double value = 0;
};

// The table as JSON, for the scripts that check documents, dashboards and rules against it.
std::string metric_catalogue_json();

}  // namespace optile::daemon
