#include "placement/policy/learned.h"

#include <algorithm>
#include <limits>

#include "base/result.h"
#include "placement/policy/gdp.h"
#include "placement/policy/hdp.h"
#include "placement/policy/placeto.h"
#include "placement/policy/policy.h"
#include "placement/policy/rnn.h"

namespace optile::placement::policy {

using base::invalid;

std::unique_ptr<Policy> make_policy(Method method, int devices, std::uint64_t seed) {
  if (method == Method::kPlaceto) return make_placeto(devices, Rewards::kSteps, seed);
  if (method == Method::kGdp) return make_gdp(devices, seed);
  if (method == Method::kHdp) return make_hdp(devices, seed);
  if (method == Method::kRnn) return make_rnn(devices, seed);
  return nullptr;
}

base::Result<std::unique_ptr<Policy>> start_policy(Method method, int devices, std::uint64_t seed,
                                                   const SavedPolicy* saved) {
  if (saved == nullptr) return make_policy(method, devices, seed);
  if (saved->method != method) {
    return invalid("the policy was saved by --method " + name_of(saved->method) + ", not " +
                   name_of(method));
  }
  if (saved->devices != devices) {
    return invalid("the policy is for " + std::to_string(saved->devices) + " devices, here are " +
                   std::to_string(devices) + ": train one for as many");
  }
  return restored_policy(*saved);
}

base::Result<std::vector<DeviceId>> by_policy(const Graph& graph, const Cluster& cluster,
                                              const StepSetting& setting, const Request& request,
                                              Budget& budget) {
  const SavedPolicy* saved = request.policy.get();
  base::Result<std::unique_ptr<Policy>> policy =
      start_policy(request.method, cluster.size(), request.seed, saved);
  if (!policy.ok()) return policy.error();
  Task task(graph, cluster, setting, policy.value()->most_groups());
  Random random(request.seed + 1);
  const bool learns = saved == nullptr || request.fine_tune;
  for (bool first = true; !budget.spent_now(); first = false) {
    if (first && saved != nullptr) {
      policy.value()->answer(task, false, random, budget);
    } else if (learns) {
      policy.value()->learn(task, budget.used(), random, budget);
    } else {
      policy.value()->answer(task, true, random, budget);
    }
  }
  return task.best();
}

}  // namespace optile::placement::policy
