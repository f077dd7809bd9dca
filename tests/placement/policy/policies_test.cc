// All policies: better than chance at equal evaluations, the same from one seed, within the budget.
#include <gtest/gtest.h>

#include <string>

#include "placement/methods/partitioners.h"
#include "placement/policy/policy.h"
#include "placement/step/step_simulator.h"
#include "tests/placement/policy/one_fast_device.h"
#include "tests/sanitized.h"

namespace optile::placement::policy {
namespace {

using test::kSanitized;

// Enough to learn, where nothing slows it.
constexpr std::uint64_t kEvaluations = kSanitized ? 100 : 1500;
constexpr std::uint64_t kFew = kSanitized ? 60 : 150;

Answer placed(const Graph& graph, const Cluster& cluster, Method method, std::uint64_t seed,
              std::uint64_t evaluations) {
  Request request;
  request.objective = Objective::kStep;
  request.method = method;
  request.seed = seed;
  request.limits.evaluations = evaluations;
  const auto answer = place(graph, cluster, request);
  EXPECT_TRUE(answer.ok()) << answer.message();
  return answer.ok() ? answer.value() : Answer();
}

// The best of as many random placements.
double by_chance(const Graph& graph, const Cluster& cluster, std::uint64_t seed) {
  const Units units = Units::of(graph, cluster);
  StepSimulator simulator(graph, cluster, {});
  double best = 1e300;
  for (std::uint64_t i = 0; i < kEvaluations; ++i) {
    const std::vector<DeviceId> devices = at_random(units, cluster, 1000 * seed + i);
    if (devices[0] == 1) continue;  // where the first node does not fit
    best = std::min(best, simulator.run(devices));
  }
  return best;
}

class Policies : public testing::TestWithParam<Method> {};

TEST_P(Policies, BeatsRandomPlacementsAtEqualEvaluations) {
  const Graph graph = chain_with_one_large_node();
  const Cluster cluster = roomy_and_fast();
  for (std::uint64_t seed = 1; seed <= 2; ++seed) {
    const Answer answer = placed(graph, cluster, GetParam(), seed, kEvaluations);
    EXPECT_TRUE(answer.feasible);
    if (!kSanitized) {
      EXPECT_LT(answer.cost, by_chance(graph, cluster, seed)) << "seed " << seed;
    }
    // What is asked for between two looks at the budget.
    EXPECT_LE(answer.evaluations, kEvaluations + 1);
  }
}

TEST_P(Policies, IsDeterministicFromSeed) {
  const Graph graph = random_graph({30, 0.1, 0}, 2);
  const Cluster cluster = Cluster::uniform(2, 1, 1e9);
  const Answer first = placed(graph, cluster, GetParam(), 5, kFew);
  EXPECT_EQ(first.assignment, placed(graph, cluster, GetParam(), 5, kFew).assignment);
  EXPECT_EQ(first.evaluations, kFew);
}

TEST_P(Policies, RespectsMemoryAndDeviceSupport) {
  std::vector<Node> nodes(12);
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    nodes[i].accelerator_ms = 1;
    nodes[i].cpu_ms = 3;
    nodes[i].output_ms = 1;
    nodes[i].memory_bytes = 1;
    nodes[i].runs_on_accelerator = i != 5;
  }
  std::vector<Edge> edges;
  for (NodeId id = 1; id < 12; ++id) edges.push_back({id - 1, id});
  const Graph graph = make_graph(nodes, edges);
  const Answer answer = placed(graph, Cluster::uniform(2, 1, 7), GetParam(), 1, kFew);
  EXPECT_TRUE(answer.feasible) << answer.violation;
  EXPECT_EQ(answer.assignment[5], 2);
}

TEST_P(Policies, PlacesSingleNodeGraph) {
  std::vector<Node> nodes(1);
  nodes[0].accelerator_ms = nodes[0].cpu_ms = 2;
  const Answer answer =
      placed(make_graph(nodes, {}), Cluster::uniform(3, 0, 1e9), GetParam(), 1, kFew);
  EXPECT_DOUBLE_EQ(answer.cost, 2);
}

INSTANTIATE_TEST_SUITE_P(All, Policies, testing::ValuesIn(kPolicies),
                         [](const auto& one) { return name_of(one.param); });

}  // namespace
}  // namespace optile::placement::policy
