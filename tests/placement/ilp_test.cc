// The method `ilp` and the programs behind it, against all placements of small graphs.
#include "placement/step/ilp.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cmath>

#include "placement/methods/cbc_program.h"
#include "placement/step/step_simulator.h"
#include "placement/step/stretches.h"
#include "tests/placement/made_graphs.h"

namespace optile::placement {
namespace {

constexpr double kSolved = 1e-6;  // as exact as the solver is

// Two things of the values 5 and 4, of which one fits; the fraction of a third fills up.
Program knapsack() {
  Program program;
  program.add({0, 1, -5, true, 1});
  program.add({0, 1, -4, true, 1});
  program.add({0, 0.5, -1, false, 1});
  program.rows.push_back({-Program::kFree, 5, {{0, 3}, {1, 3}, {2, 2}}});
  return program;
}

TEST(CbcProgram, FindsProvenOptimumOfKnapsack) {
  Budget budget;
  const ProgramAnswer answer = solve_program(knapsack(), 100, budget);
  EXPECT_TRUE(answer.complete);
  ASSERT_EQ(answer.solution.size(), 3U);
  EXPECT_NEAR(answer.solution[0], 1, kSolved);
  EXPECT_NEAR(answer.solution[1], 0, kSolved);
  EXPECT_NEAR(answer.solution[2], 0.5, kSolved);
  EXPECT_NEAR(answer.bound, -5.5, kSolved);
}

TEST(CbcProgram, ReturnsCutoffAsBoundWithoutBetterSolution) {
  Budget budget;
  const ProgramAnswer answer = solve_program(knapsack(), -6, budget);
  EXPECT_TRUE(answer.complete);
  EXPECT_TRUE(answer.solution.empty());
  EXPECT_NEAR(answer.bound, -6, kSolved);
}

TEST(CbcProgram, ReturnsInfiniteBoundWhenCancelled) {
  const std::atomic<bool> cancelled = true;
  Limits limits;
  limits.cancelled = &cancelled;
  Budget budget(limits);
  const ProgramAnswer answer = solve_program(knapsack(), 100, budget);
  EXPECT_FALSE(answer.complete);
  EXPECT_TRUE(std::isinf(answer.bound));
}

// Diamonds in a row, each with branches of several nodes.
Graph chain_of_diamonds(std::uint64_t seed) {
  Random random(seed);
  std::vector<Node> nodes;
  std::vector<Edge> edges;
  const auto add = [&] {
    Node node;
    node.accelerator_ms = 1 + random.below(8);
    node.cpu_ms = 4 * node.accelerator_ms;
    node.output_ms = 0.25 * random.below(10);
    node.memory_bytes = 1;
    nodes.push_back(node);
    return static_cast<NodeId>(nodes.size()) - 1;
  };
  NodeId waist = add();
  for (int i = 0; i < 2; ++i) {
    std::vector<NodeId> ends;
    for (int branch = 0; branch < 2; ++branch) {
      NodeId last = add();
      edges.push_back({waist, last, false});
      if (random.below(2) == 0) {
        edges.push_back({last, add(), random.below(4) == 0});
        last = static_cast<NodeId>(nodes.size()) - 1;
      }
      ends.push_back(last);
    }
    waist = add();
    for (const NodeId end : ends) edges.push_back({end, waist, false});
  }
  return make_graph(std::move(nodes), edges);
}

double best_of_all(const Graph& graph, const Cluster& cluster, const StepSetting& setting) {
  StepSimulator simulator(graph, cluster, setting);
  std::vector<DeviceId> assignment(static_cast<std::size_t>(graph.size()), 0);
  double best = std::numeric_limits<double>::infinity();
  for (std::size_t at = 0; at < assignment.size();) {
    const StepFigures figures = evaluate_step(graph, cluster, setting, assignment);
    if (figures.feasible) best = std::min(best, simulator.run(assignment));
    for (at = 0; at < assignment.size() && ++assignment[at] == cluster.size(); ++at) {
      assignment[at] = 0;
    }
  }
  return best;
}

Request with_evaluations(std::uint64_t evaluations) {
  Request request;
  request.objective = Objective::kStep;
  request.method = Method::kIlp;
  request.limits.evaluations = evaluations;
  return request;
}

TEST(Stretches, CoverEachNodeExactlyOnce) {
  const Graph graph = chain_of_diamonds(3);
  const std::vector<Stretch> stretches = stretches_of(graph);
  ASSERT_EQ(stretches.size(), 3U);  // the first waist alone, then each diamond
  std::vector<int> held(static_cast<std::size_t>(graph.size()), 0);
  for (const Stretch& stretch : stretches) {
    EXPECT_EQ(stretch.has_source, &stretch != &stretches.front());
    EXPECT_EQ(stretch.sink, stretch.graph.size() - 1);
    for (std::size_t i = stretch.has_source ? 1 : 0; i < stretch.nodes.size(); ++i) {
      ++held[static_cast<std::size_t>(stretch.nodes[i])];
      EXPECT_EQ(stretch.graph.node(static_cast<NodeId>(i)).accelerator_ms,
                graph.node(stretch.nodes[i]).accelerator_ms);
    }
  }
  EXPECT_THAT(held, testing::Each(1));
}

TEST(Ilp, ProvesDiamondChainsOptimalOnTwoEqualDevices) {
  int better = 0;
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    const Graph graph = chain_of_diamonds(seed);
    const Cluster cluster = Cluster::uniform(2, 0, 1e9);
    const StepSetting setting{StepLinks::kEdge, 0.125};
    Request request = with_evaluations(20'000);
    request.op_ms = setting.op_ms;
    const auto answer = place(graph, cluster, request);
    ASSERT_TRUE(answer.ok()) << answer.message();
    const double best = best_of_all(graph, cluster, setting);
    EXPECT_NEAR(answer.value().cost, best, kSolved) << "seed " << seed;
    EXPECT_LE(answer.value().lower_bound, best + kSolved) << "seed " << seed;
    EXPECT_LE(answer.value().gap(), 1e-4) << "seed " << seed;
    if (answer.value().lower_bound > step_bound(graph, cluster, setting) + 0.01) ++better;
  }
  EXPECT_GE(better, 4);
}

// Whatever the graph, colours, devices and memory are: the bound is none that a placement passes,
// and the answer is what its simulation says.
TEST(Ilp, BoundHoldsForAllPlacements) {
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    const Graph graph = random_graph({7, 0.35, static_cast<int>(seed % 3)}, seed);
    Cluster cluster = Cluster::uniform(2, seed % 2 == 0 ? 1 : 0, seed % 4 < 2 ? 25 : 1e9);
    cluster.devices[1].speed = seed % 3 == 0 ? 1.5 : 1;
    const StepLinks links = seed % 5 == 0 ? StepLinks::kBus : StepLinks::kEdge;
    Request request = with_evaluations(4'000);
    request.links = links;
    const auto answer = place(graph, cluster, request);
    ASSERT_TRUE(answer.ok()) << answer.message();
    StepSetting setting{links, 0};
    double best = std::numeric_limits<double>::infinity();
    const Units units = Units::of(graph, cluster);
    std::vector<DeviceId> devices(static_cast<std::size_t>(units.size()), 0);
    for (std::size_t at = 0; at < devices.size();) {
      const StepFigures figures = evaluate_step(graph, cluster, setting, units.to_nodes(devices));
      if (figures.feasible) best = std::min(best, figures.cost);
      for (at = 0; at < devices.size() && ++devices[at] == cluster.size(); ++at) devices[at] = 0;
    }
    EXPECT_LE(answer.value().lower_bound, best + kSolved) << "seed " << seed;
    EXPECT_GE(answer.value().lower_bound, step_bound(graph, cluster, setting) - kSolved);
    if (!answer.value().feasible) continue;
    EXPECT_GE(answer.value().cost, best - kSolved) << "seed " << seed;
  }
}

TEST(Ilp, IsDeterministicAndStopsWhenCancelled) {
  for (const Graph& graph : {chain_of_diamonds(2), random_graph({8, 0.3, 0}, 3)}) {
    const Cluster cluster = Cluster::uniform(2, 0, 1e9);
    Request request = with_evaluations(300);
    const auto first = place(graph, cluster, request);
    const auto second = place(graph, cluster, request);
    ASSERT_TRUE(first.ok() && second.ok());
    EXPECT_EQ(first.value().assignment, second.value().assignment);
    EXPECT_EQ(first.value().lower_bound, second.value().lower_bound);
    EXPECT_EQ(first.value().evaluations, second.value().evaluations);
    const std::atomic<bool> cancelled = true;
    request.limits.cancelled = &cancelled;
    const auto ended = place(graph, cluster, request);
    ASSERT_TRUE(ended.ok());
    EXPECT_TRUE(ended.value().feasible);
    EXPECT_GT(ended.value().lower_bound, 0);
    EXPECT_LE(ended.value().lower_bound, first.value().lower_bound);
  }
}

// `auto` gives a fiftieth of its evaluations to the same programs and goes on from there.
TEST(Ilp, AutoIsNoWorseWithFiftyfoldEvaluations) {
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    const Graph graph = random_graph({12, 0.25, 0}, seed);
    const Cluster cluster = Cluster::uniform(2, 0, 1e9);
    Request request;
    request.objective = Objective::kStep;
    request.method = Method::kIlp;
    request.seed = seed;
    request.limits.evaluations = 400;
    const auto program = place(graph, cluster, request);
    request.method = Method::kAuto;
    request.limits.evaluations = 50 * 400 + 1000;
    const auto whole = place(graph, cluster, request);
    ASSERT_TRUE(program.ok() && whole.ok());
    EXPECT_LE(whole.value().cost, program.value().cost * (1 + 1e-9)) << "seed " << seed;
    EXPECT_GE(whole.value().lower_bound, program.value().lower_bound * (1 - 1e-9));
    EXPECT_LE(whole.value().lower_bound, whole.value().cost * (1 + 1e-9));
  }
}

TEST(Ilp, RejectsMoreThan16Devices) {
  const auto answer =
      place(chain_of_diamonds(1), Cluster::uniform(17, 0, 1e9), with_evaluations(100));
  ASSERT_FALSE(answer.ok());
  EXPECT_THAT(answer.message(), testing::HasSubstr("at most 16 devices"));
}

}  // namespace
}  // namespace optile::placement
