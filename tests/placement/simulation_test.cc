// The objectives latency and step, against their second implementations and by hand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "placement/latency/latency.h"
#include "placement/step/step.h"
#include "placement/step/step_simulator.h"
#include "tests/placement/made_graphs.h"
#include "tests/placement/step_reference.h"

namespace optile::placement {
namespace {

std::vector<DeviceId> random_devices(int nodes, int devices, Random& random) {
  std::vector<DeviceId> assignment;
  for (int i = 0; i < nodes; ++i) assignment.push_back(random.below(devices));
  return assignment;
}

// a(2) -> b(3), a -> c(4), b and c -> d(1); tensors take 1.
Graph diamond() {
  std::vector<Node> nodes(4);
  const double times[] = {2, 3, 4, 1};
  for (std::size_t i = 0; i < 4; ++i) {
    nodes[i].accelerator_ms = times[i];
    nodes[i].cpu_ms = 10 * times[i];
    nodes[i].output_ms = 1;
  }
  return make_graph(nodes, {{0, 1}, {0, 2}, {1, 3}, {2, 3}});
}

TEST(Step, MatchesHandComputedCosts) {
  const Graph graph = diamond();
  const Cluster cluster = Cluster::uniform(3, 0, 1e9);
  StepSimulator edge(graph, cluster, {});
  EXPECT_DOUBLE_EQ(edge.run({0, 0, 0, 0}), 10);
  EXPECT_DOUBLE_EQ(edge.run({0, 1, 0, 0}), 8);  // b: 3 to 6, back at 7
  EXPECT_DOUBLE_EQ(edge.run({0, 1, 2, 0}), 9);  // both begin at 3
  StepSimulator bus(graph, cluster, {StepLinks::kBus, 0});
  EXPECT_DOUBLE_EQ(bus.run({0, 1, 2, 0}), 10);  // c's input waits for b's
  StepSimulator op(graph, cluster, {StepLinks::kEdge, 0.5});
  EXPECT_DOUBLE_EQ(op.run({0, 0, 0, 0}), 12);
}

TEST(Step, MatchesReferenceSimulation) {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    Random random(seed);
    const Graph graph = random_graph({25, 0.15, 0}, seed);
    const Cluster cluster = Cluster::uniform(2, 1, 60);
    for (const StepLinks links : {StepLinks::kEdge, StepLinks::kBus}) {
      const StepSetting setting{links, 0.125};
      StepSimulator simulator(graph, cluster, setting);
      for (int round = 0; round < 5; ++round) {
        const std::vector<DeviceId> assignment = random_devices(graph.size(), 3, random);
        const double cost = simulator.run(assignment);
        simulator.keep();
        expect_reference_step(graph, cluster, setting, assignment, cost, simulator.starts());
        ASSERT_FALSE(::testing::Test::HasFatalFailure()) << "seed " << seed;
        EXPECT_LE(step_bound(graph, cluster, setting), cost + kExact);
      }
    }
  }
}

TEST(Step, BoundAddsUpBetweenWaists) {
  // Two diamonds in a row on two devices: each takes its longest path.
  std::vector<Node> nodes(7);
  for (Node& node : nodes) node.accelerator_ms = node.cpu_ms = 2;
  const Graph graph =
      make_graph(nodes, {{0, 1}, {0, 2}, {1, 3}, {2, 3}, {3, 4}, {3, 5}, {4, 6}, {5, 6}});
  EXPECT_DOUBLE_EQ(step_bound(graph, Cluster::uniform(2, 0, 1e9), {}), 10);
  EXPECT_DOUBLE_EQ(step_bound(graph, Cluster::uniform(1, 0, 1e9), {}), 14);
}

TEST(Step, BoundLetsLastNodesRunInParallel) {
  // One node before three that nothing comes after: none of these is a waist.
  std::vector<Node> nodes(4);
  for (Node& node : nodes) node.accelerator_ms = node.cpu_ms = 2;
  const Graph graph = make_graph(nodes, {{0, 1}, {0, 2}, {0, 3}});
  EXPECT_DOUBLE_EQ(step_bound(graph, Cluster::uniform(3, 0, 1e9), {}), 4);
  EXPECT_DOUBLE_EQ(step_bound(graph, Cluster::uniform(2, 0, 1e9), {}), 5);
}

// Both add up the same times, one of them in ticks.
TEST(Step, TightBoundDoesNotExceedCost) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    Random random(seed);
    std::vector<Node> nodes(20);
    std::vector<Edge> edges;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      nodes[i].accelerator_ms = random.unit();
      if (i > 0) edges.push_back({static_cast<NodeId>(i) - 1, static_cast<NodeId>(i), false});
    }
    Request request;
    request.objective = Objective::kStep;
    request.method = Method::kSingle;
    const auto answer = place(make_graph(nodes, edges), Cluster::uniform(2, 0, 1e9), request);
    ASSERT_TRUE(answer.ok());
    EXPECT_LE(answer.value().lower_bound, answer.value().cost) << seed;
    EXPECT_NEAR(answer.value().gap(), 0, 1e-12) << seed;
  }
}

TEST(Step, AutoFindsOptimumAndListMethodsAreFeasible) {
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    const Graph graph = random_graph({9, 0.3, 0}, seed);
    const Cluster cluster = Cluster::uniform(2, 0, 1e9);
    double best = 1e300;
    for (int code = 0; code < 512; ++code) {
      std::vector<DeviceId> assignment;
      for (int i = 0; i < 9; ++i) assignment.push_back(code >> i & 1);
      best = std::min(best, reference_step(graph, cluster, {}, assignment).cost);
    }
    Request request;
    request.objective = Objective::kStep;
    request.limits.evaluations = 20'000;
    const auto answer = place(graph, cluster, request);
    ASSERT_TRUE(answer.ok()) << answer.message();
    EXPECT_NEAR(answer.value().cost, best, kExact);
    for (const Method method : {Method::kList, Method::kEtf}) {
      request.method = method;
      const auto listed = place(graph, cluster, request);
      ASSERT_TRUE(listed.ok());
      EXPECT_TRUE(listed.value().feasible);
      EXPECT_GE(listed.value().cost, best - kExact);
    }
  }
}

TEST(Latency, MatchesHandComputedCosts) {
  const Graph graph = diamond();
  const Cluster cluster = Cluster::uniform(2, 1, 1e9);
  const auto cost = [&](const std::vector<DeviceId>& assignment) {
    return evaluate_latency(graph, cluster, assignment).cost;
  };
  EXPECT_DOUBLE_EQ(cost({0, 0, 0, 0}), 10);
  EXPECT_DOUBLE_EQ(cost({2, 2, 2, 2}), 20 + 40 + 10);
  EXPECT_DOUBLE_EQ(cost({0, 0, 0, 1}), 2 + 3 + 4 + 2 + (2 + 1));
  EXPECT_EQ(cost({0, 1, 1, 0}), std::numeric_limits<double>::infinity());
  EXPECT_THAT(evaluate_latency(graph, cluster, {0, 1, 1, 0}).violation,
              testing::HasSubstr("contiguous"));
}

TEST(Latency, MatchesReferenceImplementation) {
  int meaningless = 0;
  int meaningful = 0;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    Random random(seed);
    const Graph graph = random_graph({10, 0.2, 2}, seed);
    const Cluster cluster = Cluster::uniform(2, 1, 30);
    const Units units = Units::of(graph, cluster);
    const auto model = latency_model(graph, cluster, units);
    for (int round = 0; round < 10; ++round) {
      const std::vector<DeviceId> assignment = random_devices(units.size(), 3, random);
      const Score score = model->score(assignment);
      const LatencyFigures figures = evaluate_latency(graph, cluster, units.to_nodes(assignment));
      if (std::isinf(score.cost)) {
        ++meaningless;
        EXPECT_TRUE(std::isinf(figures.cost));
        continue;
      }
      ++meaningful;
      ASSERT_NEAR(score.cost, figures.cost, kExact) << "seed " << seed;
      EXPECT_EQ(score.excess <= 0, figures.feasible);
      EXPECT_LE(latency_bound(graph, cluster), score.cost + kExact);
    }
  }
  EXPECT_GT(meaningless, 10);
  EXPECT_GT(meaningful, 10);
}

TEST(Latency, AutoFindsOptimum) {
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    const Graph graph = random_graph({7, 0.3, 0}, seed);
    const Cluster cluster = Cluster::uniform(2, 1, 15);
    double best = 1e300;
    for (int code = 0; code < 2187; ++code) {
      std::vector<DeviceId> assignment;
      for (int i = 0, rest = code; i < 7; ++i, rest /= 3) assignment.push_back(rest % 3);
      const LatencyFigures figures = evaluate_latency(graph, cluster, assignment);
      if (figures.feasible) best = std::min(best, figures.cost);
    }
    Request request;
    request.objective = Objective::kLatency;
    request.limits.evaluations = 40'000;
    const auto answer = place(graph, cluster, request);
    ASSERT_TRUE(answer.ok()) << answer.message();
    EXPECT_TRUE(answer.value().feasible);
    EXPECT_NEAR(answer.value().cost, best, kExact);
  }
}

}  // namespace
}  // namespace optile::placement
