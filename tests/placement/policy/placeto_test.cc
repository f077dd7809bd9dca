// Placeto's two ways of giving rewards.
#include "placement/policy/placeto.h"

#include <gtest/gtest.h>

#include <utility>

#include "tests/placement/policy/one_fast_device.h"
#include "tests/sanitized.h"

namespace optile::placement::policy {
namespace {

TEST(Placeto, LearnsFromStepAndFinalRewards) {
  const Graph graph = chain_with_one_large_node();
  const Cluster cluster = roomy_and_fast();
  for (const auto& [rewards, evaluations] :
       {std::pair(Rewards::kSteps, 2000U), std::pair(Rewards::kEnd, 300U)}) {
    const auto policy = make_placeto(2, rewards, 1);
    Task task(graph, cluster, {}, policy->most_groups());
    Random random(1);
    Limits limits;
    limits.evaluations = test::kSanitized ? 50 : evaluations;
    Budget budget(limits);
    while (!budget.spent()) policy->learn(task, budget.used(), random, budget);
    Budget after;
    Task fresh(graph, cluster, {}, policy->most_groups());
    policy->answer(fresh, false, random, after);
    EXPECT_EQ(after.evaluations(), 2U);  // the start's and its own
    if (test::kSanitized) continue;      // so few say nothing
    EXPECT_LT(fresh.best_cost(), 25) << (rewards == Rewards::kEnd ? "from the end" : "from steps");
  }
}

}  // namespace
}  // namespace optile::placement::policy
