// What the kernel says about the daemon's own process. The daemon's one thread.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "daemon/metrics/metric_catalogue.h"

namespace optile::daemon {

struct ProcessStatistics {
  double cpu_seconds = 0;
  double resident_bytes = 0;
  double virtual_bytes = 0;
  double threads = 0;
  double start_seconds = 0;  // since 1970
};

struct KernelUnits {
  double ticks_per_second = 100;
  double page_bytes = 4096;
};

// From the texts of /proc/self/stat and /proc/stat; nullopt when they are not what they should be.
std::optional<ProcessStatistics> parse_process(const std::string& process_stat,
                                               const std::string& machine_stat,
                                               const KernelUnits& units);

// process_*; what cannot be read is left out.
void add_process_samples(std::vector<MetricSample>& samples);

}  // namespace optile::daemon
