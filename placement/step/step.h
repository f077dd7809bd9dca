// E2, the time of one step by simulation (spec 2), the one place that states it. Devices run one
// node at a time, without pause while one is ready there; of several ready nodes the one with the
// longest way to the end first (times on its fastest device and transfers). A node is ready when
// all its inputs are on its device. What crosses devices:
//   kBus (a)   each device has one outgoing bus, which sends one tensor to one device at a time, in
//              the order in which tensors were made, of one node's in the order of the devices;
//   kEdge (b)  each tensor takes its transfer time to each device, all at once.
// Memory caps hold as in E1.
#pragma once

#include <memory>
#include <vector>

#include "placement/place.h"
#include "placement/search/annealing.h"

namespace optile::placement {

struct StepSetting {
  StepLinks links = StepLinks::kEdge;
  double op_ms = 0;
  int micro_batches = 1;
};

struct StepFigures {
  std::vector<double> start;  // of each node, micro-batch after micro-batch
  std::vector<double> load;   // how long each device computes
  std::vector<double> memory;
  double cost = 0;
  bool feasible = false;
  std::string violation;
};

// Another way to the same figures as StepSimulator's, for answers and tests: time goes on by
// looking for the next thing that can happen, without queues and without memory.
StepFigures evaluate_step(const Graph& graph, const Cluster& cluster, const StepSetting& setting,
                          const std::vector<DeviceId>& assignment);

// Sum over the stretches between nodes that every path passes, of the longest path in each and of
// its work over all devices.
double step_bound(const Graph& graph, const Cluster& cluster, const StepSetting& setting);

const std::vector<std::string>& step_methods();
base::Result<Answer> place_step(const Graph& graph, const Cluster& cluster, const Request& request,
                                Budget& budget);

}  // namespace optile::placement
