// Training of a policy on many graphs, so that it places others it has not seen. Of one thread.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "placement/place.h"
#include "placement/policy/policy_file.h"
#include "placement/step/step.h"

namespace optile::placement::policy {

// One graph of a family; the family's clusters have the same number of devices.
struct Example {
  std::string name;
  const Graph& graph;
  const Cluster& cluster;
};

struct TrainingRequest {
  Method method = Method::kRnn;
  StepSetting setting;
  Limits limits;
  std::uint64_t seed = 1;
  // What to go on from; null: a fresh policy.
  std::shared_ptr<const SavedPolicy> policy;
};

struct Trained {
  SavedPolicy policy;
  std::uint64_t evaluations = 0;
  double seconds = 0;
  double mean_cost = 0;  // over the examples, of the best cost over that of one device
};

// Goes round the examples, each time in another order, until the limits are reached. kInvalid for
// a method that is no policy, no examples, or devices that differ in number.
base::Result<Trained> train(const std::vector<Example>& examples, const TrainingRequest& request);

}  // namespace optile::placement::policy
