#include "placement/policy/training.h"

#include <numeric>
#include <utility>

#include "base/result.h"
#include "placement/policy/learned.h"
#include "placement/policy/policy.h"

namespace optile::placement::policy {
namespace {

using base::invalid;

base::Status check(const std::vector<Example>& examples, const TrainingRequest& request) {
  if (!is_method_of(kPolicies, request.method)) {
    return invalid("the method " + name_of(request.method) + " does not learn; there are " +
                   names_of(kPolicies));
  }
  if (examples.empty()) return invalid("there is no graph to learn from");
  for (const Example& one : examples) {
    if (one.cluster.size() == examples.front().cluster.size()) continue;
    return invalid(one.name + " has " + std::to_string(one.cluster.size()) + " devices and " +
                   examples.front().name + " " + std::to_string(examples.front().cluster.size()) +
                   ": a policy is for one number, so name it by --devices K");
  }
  return {};
}

double mean_cost_of(const std::vector<std::unique_ptr<Task>>& tasks) {
  double sum = 0;
  for (const auto& task : tasks) sum += task->relative_best();
  return sum / static_cast<double>(tasks.size());
}

}  // namespace

base::Result<Trained> train(const std::vector<Example>& examples, const TrainingRequest& request) {
  const base::Status good = check(examples, request);
  if (!good.ok()) return good.error();
  const int devices = examples.front().cluster.size();
  base::Result<std::unique_ptr<Policy>> policy =
      start_policy(request.method, devices, request.seed, request.policy.get());
  if (!policy.ok()) return policy.error();
  std::vector<std::unique_ptr<Task>> tasks;
  tasks.reserve(examples.size());
  for (const Example& one : examples) {
    tasks.push_back(std::make_unique<Task>(one.graph, one.cluster, request.setting,
                                           policy.value()->most_groups()));
  }
  Budget budget(request.limits);
  Random random(request.seed + 1);
  std::vector<std::size_t> round(tasks.size());
  std::iota(round.begin(), round.end(), std::size_t{0});
  while (!budget.spent_now()) {
    for (std::size_t i = round.size(); i > 1; --i) {
      std::swap(round[i - 1], round[static_cast<std::size_t>(random.below(static_cast<int>(i)))]);
    }
    for (const std::size_t i : round) {
      if (budget.spent_now()) break;
      policy.value()->learn(*tasks[i], budget.used(), random, budget);
    }
  }
  return Trained{saved_policy(request.method, devices, *policy.value()), budget.evaluations(),
                 budget.seconds(), mean_cost_of(tasks)};
}

}  // namespace optile::placement::policy
