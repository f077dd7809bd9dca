// E2, the time of one step by simulation (spec 2), the one place that states it. Devices run one
// node at a time, without pause while one is ready there; of several ready nodes the one with the
// longest way to the end first (times on its fastest device and transfers). A node is ready when
// all its inputs are on its device. What crosses devices:
//   kBus (a)   each device has one outgoing bus, which sends one tensor to one device at a time, in
//              the order in which tensors were made, of one node's in the order of the devices;
//   kEdge (b)  each tensor takes its transfer time to each device, all at once;
//   kRouted (c)  each tensor takes a route of the cluster's links (routes.h) to each device: first
//              its latency, then its bytes flow at a max-min fair share of each link's bandwidth.
//              Bytes at the default bandwidth stand for a transfer time that a file gives. When a
//              tensor is there is rounded to about 1e-9 of the longest possible step.
// With micro-batches (d) each node runs once for each of them, with an equal part of its time and
// of its output's bytes, and the whole latency and op time. An earlier micro-batch goes first where
// nodes of several are ready. The step ends with the last one, so a pipeline of cuts fills and
// drains within it: its bubbles.
// Memory caps hold as in E1: all micro-batches together keep what one batch would.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "placement/place.h"
#include "placement/search/annealing.h"

namespace optile::placement {

class Routes;

struct StepSetting {
  StepLinks links = StepLinks::kEdge;
  double op_ms = 0;
  int micro_batches = 1;
  // Of routed links, made once by checked_step(); whoever needs them and finds none makes them.
  std::shared_ptr<const Routes> routes = nullptr;
};

struct StepFigures {
  std::vector<double> start;  // of each node, micro-batch after micro-batch
  // Likewise numbered: all of them, those of one device in the order in which they run. Their
  // starts do not say it, since some may take no time.
  std::vector<std::int32_t> order;
  std::vector<double> load;  // how long each device computes
  std::vector<double> memory;
  double cost = 0;
  bool feasible = false;
  std::string violation;
};

// The setting with its routes. kInvalid where a cluster has none, or there are too many
// micro-batches. Whatever takes a setting needs one that passes.
base::Result<StepSetting> checked_step(const Graph& graph, const Cluster& cluster,
                                       StepSetting setting);

// Whether DLPlacer's integer program (ilp.h) knows such steps: those of one batch, with transfers
// that do not share links. Its bound holds for no others.
bool has_program(const StepSetting& setting);

// What is to be said of one placement; `start` and `order` are empty where a node cannot run on its
// device.
StepFigures evaluate_step(const Graph& graph, const Cluster& cluster, const StepSetting& setting,
                          const std::vector<DeviceId>& assignment);

// Sum over the stretches between nodes that every path passes, of the longest path in each and of
// its work over all devices.
double step_bound(const Graph& graph, const Cluster& cluster, const StepSetting& setting);

base::Result<Answer> place_step(const Graph& graph, const Cluster& cluster, const Request& request,
                                Budget& budget);

}  // namespace optile::placement
