// The samples of one attached program. Pure.
#pragma once

#include <vector>

#include "daemon/client/client.h"
#include "daemon/metrics/metric_catalogue.h"
#include "daemon/views/step_times.h"

namespace optile::daemon {

// Names of a client's phases, "attaching" first.
std::vector<const char*> phase_names();
const char* phase_of(const ClientView& client);

// `place`: the label `client`, unique among the attached ones.
void add_client_samples(const ClientView& client, const StepTimes& times, int place,
                        std::vector<MetricSample>& samples);

}  // namespace optile::daemon
