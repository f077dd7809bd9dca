// One call for every method on the objectives of graphs (spec 2): load, latency, step. Problems of
// strategies have a call of their own.
#pragma once

#include <memory>
#include <vector>

#include "base/result.h"
#include "placement/answer.h"
#include "placement/budget.h"
#include "placement/cluster.h"
#include "placement/method.h"

namespace optile::placement {

namespace policy {
struct SavedPolicy;
}

struct Request {
  Objective objective = Objective::kLoad;
  Method method = Method::kAuto;
  Limits limits;
  double bound_seconds = 0;  // after the method, to improve the bound
  std::uint64_t seed = 1;
  StepLinks links = StepLinks::kEdge;  // of the objective `step`
  double op_ms = 0;                    // added to each node's time in a step
  // A step's batch goes through in so many equal parts, one after the other (spec 2, E2 d).
  int micro_batches = 1;
  std::vector<DeviceId> expert;  // the device of each node, for the method `expert`
  // Of `auto`, which then starts from there: the device that each node was on, -1 for one that is
  // new; and how many nodes may end elsewhere than they were.
  std::vector<DeviceId> kept;
  std::uint64_t most_moved = 0;
  // Of learned methods: one that was trained before; null: they learn on this graph alone.
  std::shared_ptr<const policy::SavedPolicy> policy;
  bool fine_tune = false;  // whether they learn on from it
};

// kInvalid for a method of another objective or one that lacks something; an answer that is not
// feasible says why in it; one of more than `most_moved` nodes is not feasible. The same request
// with a limit on evaluations and none on time gives the same answer.
base::Result<Answer> place(const Graph& graph, const Cluster& cluster, const Request& request);

}  // namespace optile::placement
