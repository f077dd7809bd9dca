// E2 c once more, without queues: a reference for RoutedSimulator. Rates are made anew from all
// flows at every moment, by raising one level for all of them.
#pragma once

#include <vector>

#include "placement/step/step.h"

namespace optile::placement {

// Sets start, load and cost. Everything can run where it is, and there are routes.
void evaluate_routed(const Graph& graph, const Cluster& cluster, const StepSetting& setting,
                     const std::vector<DeviceId>& assignment, StepFigures& figures);

}  // namespace optile::placement
