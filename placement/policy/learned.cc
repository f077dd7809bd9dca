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
namespace {

using base::invalid;

}  // namespace

const std::vector<std::string>& policy_names() {
  static const std::vector<std::string> names = {"placeto", "gdp", "hdp", "rnn"};
  return names;
}

bool is_policy(const std::string& method) {
  return std::find(policy_names().begin(), policy_names().end(), method) != policy_names().end();
}

std::unique_ptr<Policy> make_policy(const std::string& name, int devices, std::uint64_t seed) {
  if (name == "placeto") return make_placeto(devices, Rewards::kSteps, seed);
  if (name == "gdp") return make_gdp(devices, seed);
  if (name == "hdp") return make_hdp(devices, seed);
  if (name == "rnn") return make_rnn(devices, seed);
  return nullptr;
}

base::Result<std::unique_ptr<Policy>> start_policy(const std::string& method, int devices,
                                                   std::uint64_t seed, const SavedPolicy* saved) {
  if (saved == nullptr) return make_policy(method, devices, seed);
  if (saved->method != method) {
    return invalid("the policy was saved by --method " + saved->method + ", not " + method);
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
