#include "placement/strategy/node_edge_elimination.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "placement/strategy/solver.h"
#include "small_problems.h"

namespace optile::placement {
namespace {

using testing::brute_force;
using testing::naive_cost;
using testing::random_problem;

struct Tally {
  int feasible = 0;
  int eliminated = 0;  // of those, problems of which something was
};

// Over 150 problems of such shapes, each also solved by trying everything.
template <typename ShapeOf>
Tally compare_with_brute_force(ShapeOf shape_of) {
  Tally tally;
  for (std::uint64_t seed = 1; seed <= 150; ++seed) {
    testing::Shape shape = shape_of(seed);
    shape.edges = 6 + static_cast<std::uint32_t>(seed % 9);
    const StrategyProblem problem = random_problem(shape, seed);
    const auto optimum = brute_force(problem);
    Budget budget;
    const auto outcome = eliminate_nodes_and_edges(problem, budget);
    EXPECT_EQ(outcome.ok(), optimum.has_value()) << seed;
    if (!optimum || !outcome.ok()) continue;
    ++tally.feasible;
    EXPECT_EQ(naive_cost(problem, outcome.value().choice), optimum) << seed;
    tally.eliminated += outcome.value().remained < problem.nodes.size() ? 1 : 0;
  }
  return tally;
}

TEST(NodeEdgeElimination, FindsOptimumOfSmallProblems) {
  const Tally tally = compare_with_brute_force(
      [](std::uint64_t seed) { return testing::Shape{.forbid = seed % 3 == 0}; });
  EXPECT_GT(tally.feasible, 100);
  EXPECT_GT(tally.eliminated, 100);
}

TEST(NodeEdgeElimination, IsExactBeyond53Bits) {
  const Tally tally = compare_with_brute_force(
      [](std::uint64_t /*seed*/) { return testing::Shape{.costs = kForbidden}; });
  EXPECT_GT(tally.feasible, 80);
}

// A chain with parallel edges, every other one turned round.
StrategyProblem chain(std::uint32_t nodes, std::uint64_t seed) {
  StrategyProblem problem =
      random_problem({.nodes = nodes, .edges = 0, .most_strategies = 5, .forbid = false}, seed);
  std::mt19937_64 random(seed);
  TableStore store;
  for (std::uint32_t i = 1; i < nodes; ++i) {
    for (int parallel = 0; parallel < 2; ++parallel) {
      const std::uint32_t first = parallel == 0 ? i - 1 : i;
      const std::uint32_t second = parallel == 0 ? i : i - 1;
      CostTable table{problem.nodes[first].costs.size(), problem.nodes[second].costs.size(), {}};
      for (std::size_t k = 0; k < table.rows * table.columns; ++k) {
        table.costs.push_back(static_cast<Cost>(random() % 50));
      }
      const auto number = store.number_of(std::move(table), problem.tables);
      problem.edges.push_back({first, second, number});
    }
  }
  return problem;
}

TEST(NodeEdgeElimination, ReducesChainToTwoNodes) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const StrategyProblem problem = chain(8, seed);
    Budget budget;
    const auto outcome = eliminate_nodes_and_edges(problem, budget);
    ASSERT_TRUE(outcome.ok()) << outcome.message();
    EXPECT_EQ(outcome.value().remained, 2U);
    EXPECT_EQ(naive_cost(problem, outcome.value().choice), brute_force(problem)) << seed;
  }
}

TEST(NodeEdgeElimination, RejectsDenseLimitedOrCancelledProblems) {
  StrategyProblem crowded =
      random_problem({.nodes = 40, .edges = 200, .most_strategies = 6, .forbid = false}, 2);
  Budget budget;
  EXPECT_THAT(solve_strategy(crowded, {.method = StrategyMethod::kOptcnn}, budget).message(),
              ::testing::HasSubstr("use the method auto"));
  crowded.usage_limit = 1;
  EXPECT_THAT(solve_strategy(crowded, {.method = StrategyMethod::kOptcnn}, budget).message(),
              ::testing::HasSubstr("knows no limit on memory"));
  const std::atomic<bool> cancelled = true;
  Budget none({.cancelled = &cancelled});
  EXPECT_THAT(solve_strategy(chain(5, 1), {.method = StrategyMethod::kOptcnn}, none).message(),
              ::testing::HasSubstr("the time was over"));
}

TEST(NodeEdgeElimination, OptcnnMethodProvesItsAnswer) {
  const StrategyProblem problem = chain(30, 7);
  Budget budget;
  const auto answer = solve_strategy(problem, {.method = StrategyMethod::kOptcnn}, budget);
  ASSERT_TRUE(answer.ok()) << answer.message();
  EXPECT_EQ(answer.value().cost, answer.value().lower_bound);
  Budget other;
  EXPECT_EQ(solve_strategy(problem, {.method = StrategyMethod::kElimination}, other).value().cost,
            answer.value().cost);
}

}  // namespace
}  // namespace optile::placement
