// Samples as the text that Prometheus reads. The one place that knows prometheus-cpp. The daemon's
// one thread.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "daemon/metrics/metric_catalogue.h"

namespace optile::daemon {

inline constexpr const char* kExpositionType = "text/plain; version=0.0.4; charset=utf-8";

// A page holds no more; see keep_within().
inline constexpr std::size_t kMaxSeries = 5000;

// Drops whole families, the least important first, until at most `most` samples are left, and says
// how many went. Part of a family would look like all of it.
std::size_t keep_within(std::size_t most, std::vector<MetricSample>& samples);

// Label values must be valid already: label_text().
std::string exposition(std::vector<MetricSample> samples);

}  // namespace optile::daemon
