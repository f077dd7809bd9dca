#include "daemon/metrics/exposition.h"

#include <prometheus/collectable.h>
#include <prometheus/metric_family.h>
#include <prometheus/text_serializer.h>

#include <algorithm>
#include <array>
#include <utility>

namespace optile::daemon {
namespace {

std::array<std::size_t, kMetrics> sizes_of(const std::vector<MetricSample>& samples) {
  std::array<std::size_t, kMetrics> sizes{};
  for (const MetricSample& sample : samples) ++sizes[static_cast<std::size_t>(sample.metric)];
  return sizes;
}

// Counters and families of the library's own are not used: everything here is a copy of a state
// that somebody else keeps, so nothing is ever added on a hot path.
class SnapshotCollectable final : public prometheus::Collectable {
 public:
  explicit SnapshotCollectable(std::vector<MetricSample> samples) : samples_(std::move(samples)) {}

  std::vector<prometheus::MetricFamily> Collect() const override {
    std::vector<prometheus::MetricFamily> families(kMetrics);
    for (const MetricEntry& entry : metric_catalogue()) {
      prometheus::MetricFamily& family = families[static_cast<std::size_t>(entry.metric)];
      family.name = entry.name;
      family.help = entry.help;
      family.type = entry.type == MetricType::kCounter ? prometheus::MetricType::Counter
                                                       : prometheus::MetricType::Gauge;
    }
    const std::array<std::size_t, kMetrics> sizes = sizes_of(samples_);
    for (std::size_t i = 0; i < kMetrics; ++i) families[i].metric.reserve(sizes[i]);
    for (const MetricSample& sample : samples_) {
      families[static_cast<std::size_t>(sample.metric)].metric.push_back(metric_of(sample));
    }
    // A family without samples says nothing.
    std::erase_if(families, [](const auto& family) { return family.metric.empty(); });
    return families;
  }

 private:
  static prometheus::ClientMetric metric_of(const MetricSample& sample) {
    const MetricEntry& entry = metric_entry(sample.metric);
    const std::size_t labels = entry.label_count();
    prometheus::ClientMetric metric;
    metric.label.reserve(labels);
    for (std::size_t i = 0; i < labels; ++i) {
      metric.label.push_back({entry.labels[i], sample.labels[i]});
    }
    if (entry.type == MetricType::kCounter) {
      metric.counter.value = sample.value;
    } else {
      metric.gauge.value = sample.value;
    }
    return metric;
  }

  std::vector<MetricSample> samples_;
};

}  // namespace

std::size_t keep_within(std::size_t most, std::vector<MetricSample>& samples) {
  if (samples.size() <= most) return 0;
  const std::array<std::size_t, kMetrics> sizes = sizes_of(samples);
  std::size_t kept = samples.size();
  std::size_t last = kMetrics;  // metrics below this number stay
  while (last > 0 && kept > most) kept -= sizes[--last];
  const std::size_t before = samples.size();
  std::erase_if(samples, [last](const MetricSample& sample) {
    return static_cast<std::size_t>(sample.metric) >= last;
  });
  return before - samples.size();
}

std::string exposition(std::vector<MetricSample> samples) {
  const SnapshotCollectable collectable(std::move(samples));
  return prometheus::TextSerializer().Serialize(collectable.Collect());
}

}  // namespace optile::daemon
