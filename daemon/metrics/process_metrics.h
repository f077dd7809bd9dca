// What the kernel says about the daemon's own process. The daemon's one thread.
#pragma once

#include <vector>

#include "daemon/metrics/metric_catalogue.h"

namespace optile::daemon {

// process_*; what cannot be read is left out.
void add_process_samples(std::vector<MetricSample>& samples);

}  // namespace optile::daemon
