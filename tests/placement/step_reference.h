// E2 once more, without queues and without memory: time goes on by looking for the next thing that
// can happen. References for StepSimulator and RoutedSimulator, with which they share no more than
// durations, ranks and routes. Quadratic.
#pragma once

#include <vector>

#include "placement/step/step.h"

namespace optile::placement {

// Start, load and cost alone. The cost is infinite where a node is on a device that cannot run it.
StepFigures reference_step(const Graph& graph, const Cluster& cluster, const StepSetting& setting,
                           const std::vector<DeviceId>& assignment);

// The same for E2 c: rates are made anew from all flows at every moment, by raising one level for
// all of them. Everything can run where it is.
StepFigures reference_routed(const Graph& graph, const Cluster& cluster, const StepSetting& setting,
                             const std::vector<DeviceId>& assignment);

// That a simulator's time and starts of this assignment are the reference's, to the last bit, and
// those of evaluate_step() as well.
void expect_reference_step(const Graph& graph, const Cluster& cluster, const StepSetting& setting,
                           const std::vector<DeviceId>& assignment, double time,
                           const std::vector<double>& starts);

}  // namespace optile::placement
