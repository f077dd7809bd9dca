// What happens when, and where, under a placement. Pure.
#pragma once

#include <vector>

#include "placement/place.h"

namespace optile::placement {

struct Span {
  enum class What { kCompute, kSend, kReceive };

  What what = What::kCompute;
  DeviceId device = 0;  // that computes, sends or receives
  NodeId node = 0;      // that runs, or whose tensor is moved
  DeviceId to = -1;     // of one that is sent to a certain device
  double start_ms = 0;
  double end_ms = 0;
};

// The nodes and transfers of a step or of a sample, by the rules of the request's objective; the
// nodes of a device in the order in which they run. Empty for the objective load, which knows no
// time, and where something cannot run. `assignment` has a device for each node.
std::vector<Span> timeline(const Graph& graph, const Cluster& cluster, const Request& request,
                           const std::vector<DeviceId>& assignment);

}  // namespace optile::placement
