// Learned policies as methods of the objective step.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "placement/place.h"
#include "placement/policy/policy_file.h"
#include "placement/step/step.h"

namespace optile::placement::policy {

// Places the graph until the budget is spent, and gives the best that was asked for, of each node.
// Without a policy in the request it learns on this graph alone; with one it places without
// learning (zero-shot), the likeliest devices first, or learns on from there (fine-tuning). The
// method has to be a policy; kInvalid where the request's is of another method or cluster.
base::Result<std::vector<DeviceId>> by_policy(const Graph& graph, const Cluster& cluster,
                                              const StepSetting& setting, const Request& request,
                                              Budget& budget);

// A fresh policy, or `saved` where there is one. kInvalid where that is of another method or number
// of devices.
base::Result<std::unique_ptr<Policy>> start_policy(Method method, int devices, std::uint64_t seed,
                                                   const SavedPolicy* saved);

}  // namespace optile::placement::policy
