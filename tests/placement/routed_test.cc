// RoutedStep links and the fair shares of their bandwidth, by hand and against the second
// implementation; and micro-batches where a method is asked for them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "placement/step/routed_simulator.h"
#include "placement/step/routes.h"
#include "placement/step/step.h"
#include "tests/placement/made_graphs.h"
#include "tests/placement/step_reference.h"
#include "tests/sanitized.h"

namespace optile::placement {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// Two devices behind each of two routers, and a link between these.
Cluster tree() {
  Cluster cluster = Cluster::uniform(4, 0, 1e9);
  cluster.routers = 2;
  cluster.links = {{0, 4, 1000, 0.25},
                   {1, 4, 1000, 0.25},
                   {4, 5, 500, 1},
                   {5, 2, 1000, 0.25},
                   {5, 3, 2000, 0.25}};
  return cluster;
}

TEST(Routes, ChoosesLeastLatency) {
  Cluster cluster = tree();
  const auto routes = Routes::of(cluster);
  ASSERT_TRUE(routes.ok()) << routes.message();
  EXPECT_THAT(routes.value().between(0, 1).channels, ElementsAre(0, 3));
  EXPECT_THAT(routes.value().between(1, 3).channels, ElementsAre(2, 4, 8));
  EXPECT_THAT(routes.value().between(3, 0).channels, ElementsAre(9, 5, 1));
  EXPECT_DOUBLE_EQ(routes.value().between(3, 0).latency_ms, 1.5);
  EXPECT_DOUBLE_EQ(routes.value().alone_ms(3, 0, 1000), 1.5 + 2);
  EXPECT_DOUBLE_EQ(routes.value().alone_ms(3, 0, 0), 0);
  cluster.links.push_back({0, 3, 1, 1.25});  // slow, but sooner there
  EXPECT_THAT(Routes::of(cluster).value().between(3, 0).channels, ElementsAre(11));
}

TEST(Routes, RejectsUnreachableOrTooManyDevices) {
  Cluster cluster = tree();
  cluster.links.pop_back();
  const auto routes = Routes::of(cluster);
  ASSERT_FALSE(routes.ok());
  EXPECT_THAT(routes.message(), HasSubstr("from accelerator 0 to accelerator 3"));
  EXPECT_FALSE(Routes::of(Cluster::uniform(kMostRouted + 1, 0, 1)).ok());
  EXPECT_TRUE(Routes::of(Cluster::uniform(1, 0, 1)).ok());
}

TEST(FairRates, SharesChannelsMaxMinFairly) {
  const std::vector<double> bandwidths = {10, 4, 100};
  FairRates fair(bandwidths);
  // Two flows over the second channel get 2 each; what they leave of the first one goes to others.
  const Routes::Route both{0, {0, 1}};
  const Routes::Route second{0, {1}};
  const Routes::Route first{0, {0}};
  const Routes::Route wide{0, {2}};
  std::vector<double> rates;
  for (int again = 0; again < 2; ++again) {
    fair.share({&both, &second, &first, &first, &wide}, rates);
    EXPECT_THAT(rates, ElementsAre(2, 2, 4, 4, 100));
  }
  fair.share({}, rates);
  EXPECT_TRUE(rates.empty());
}

// Two nodes on device 0 are read on devices 1 and 2.
Graph fork() {
  std::vector<Node> nodes(4);
  const double times[] = {1, 2, 1, 1};
  for (std::size_t i = 0; i < 4; ++i) nodes[i].accelerator_ms = nodes[i].cpu_ms = times[i];
  nodes[0].output_bytes = 4000;
  nodes[1].output_bytes = 1000;
  return make_graph(nodes, {{0, 2}, {1, 3}});
}

TEST(RoutedStep, TransfersShareBandwidth) {
  const Graph graph = fork();
  Cluster cluster = Cluster::uniform(3, 0, 1e9);
  cluster.bytes_per_ms = 1000;
  cluster.latency_ms = 0.5;
  const StepSetting setting{StepLinks::kRouted, 0, 1};
  RoutedSimulator simulator(graph, cluster, setting);
  // Node 0's tensor flows from 1.5, alone until 1's joins it at 3.5 with 1000 bytes. At half the
  // rate each, that one is there at 5.5, and the last 1000 bytes of the other at 6.5.
  EXPECT_DOUBLE_EQ(simulator.run({0, 0, 1, 2}), 7.5);
  EXPECT_DOUBLE_EQ(simulator.starts()[2], 6.5);
  EXPECT_DOUBLE_EQ(simulator.starts()[3], 5.5);
  EXPECT_DOUBLE_EQ(simulator.run({0, 0, 0, 0}), 5);
}

// How finely time is divided depends on the ways that tensors can take, not on all links.
TEST(RoutedStep, UnusedLinksChangeNothing) {
  const Graph graph = fork();
  Cluster cluster = Cluster::uniform(3, 0, 1e9);
  cluster.bytes_per_ms = 1000;  // of which the order is made in which nodes run
  cluster.routers = 1;
  cluster.links = {{0, 3, 1000, 0.25}, {1, 3, 1000, 0.25}, {2, 3, 1000, 0.25}};
  const StepSetting setting{StepLinks::kRouted, 0, 1};
  RoutedSimulator simulator(graph, cluster, setting);
  EXPECT_DOUBLE_EQ(simulator.run({0, 0, 1, 2}), 7.5);
  cluster.links.push_back({0, 1, 1e-6, 1e9});
  RoutedSimulator more(graph, cluster, setting);
  EXPECT_DOUBLE_EQ(more.run({0, 0, 1, 2}), 7.5);
  EXPECT_EQ(more.starts(), simulator.starts());
}

TEST(RoutedStep, LongestTransferFollowsLongestRoute) {
  const Routes routes = Routes::of(tree()).value();
  EXPECT_DOUBLE_EQ(routes.longest_ms(1000), 1.5 + 2);
  EXPECT_DOUBLE_EQ(Routes::of(Cluster::uniform(1, 0, 1)).value().longest_ms(1000), 0);
}

TEST(RoutedStep, SimulatorSharesCheckedRoutes) {
  const Graph graph = fork();
  const auto checked = checked_step(graph, tree(), {StepLinks::kRouted, 0, 1});
  ASSERT_TRUE(checked.ok());
  ASSERT_TRUE(checked.value().routes);
  const long users = checked.value().routes.use_count();
  const RoutedSimulator simulator(graph, tree(), checked.value());
  EXPECT_GT(checked.value().routes.use_count(), users);
  EXPECT_FALSE(checked_step(graph, tree(), {}).value().routes);
}

Cluster random_tree(Random& random, int devices) {
  Cluster cluster = Cluster::uniform(devices, 0, 1e9);
  for (Device& device : cluster.devices) device.speed = 0.5 + random.unit();
  cluster.routers = 1 + random.below(3);
  for (int router = 1; router < cluster.routers; ++router) {
    cluster.links.push_back({devices + random.below(router), devices + router,
                             1e5 * (1 + random.below(20)), 0.125 * random.below(4)});
  }
  for (int d = 0; d < devices; ++d) {
    cluster.links.push_back({devices + random.below(cluster.routers), d,
                             1e5 * (1 + random.below(20)), 0.125 * random.below(4)});
  }
  return cluster;
}

TEST(RoutedStep, MatchesReferenceSimulation) {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    Random random(seed);
    const Graph graph = random_graph({25, 0.15, 0}, seed);
    const int devices = 2 + random.below(3);
    Cluster cluster = random_tree(random, devices);
    if (seed % 4 == 0) cluster.links.clear();
    const StepSetting setting{StepLinks::kRouted, 0.125 * random.below(2), 1 + random.below(3)};
    RoutedSimulator simulator(graph, cluster, setting);
    for (int round = 0; round < 5; ++round) {
      std::vector<DeviceId> assignment;
      for (int i = 0; i < graph.size(); ++i) assignment.push_back(random.below(devices));
      const double cost = simulator.run(assignment);
      expect_reference_step(graph, cluster, setting, assignment, cost, simulator.starts());
      ASSERT_FALSE(::testing::Test::HasFatalFailure()) << "seed " << seed;
      EXPECT_LE(step_bound(graph, cluster, setting), cost * (1 + 1e-9));
    }
  }
}

TEST(RoutedStep, MovesMatchFullSimulation) {
  std::uint64_t simulated = 0;
  std::uint64_t items = 0;
  for (std::uint64_t seed = 1; seed <= (test::kSanitized ? 8 : 24); ++seed) {
    Random random(seed);
    const Graph graph = random_graph({40, seed % 2 == 0 ? 0.04 : 0.12, 0}, seed);
    const int devices = 2 + random.below(3);
    Cluster cluster = random_tree(random, devices);
    if (seed % 3 == 0) cluster.links.clear();
    if (seed % 4 == 0) cluster.devices[1].kind = DeviceKind::kCpu;
    const StepSetting setting{StepLinks::kRouted, 0.125 * random.below(2), 1 + random.below(3)};
    RoutedSimulator simulator(graph, cluster, setting);
    std::vector<DeviceId> kept(static_cast<std::size_t>(graph.size()), 0);
    simulator.run(kept);
    simulator.keep();
    const std::uint64_t before = simulator.simulated();
    for (int move = 0; move < 80; ++move) {
      std::vector<DeviceId> candidate = kept;
      for (int i = random.below(4) == 0 ? 1 + random.below(6) : 1; i > 0; --i) {
        candidate[static_cast<std::size_t>(random.below(graph.size()))] = random.below(devices);
      }
      const double cost = simulator.run(candidate);
      const StepFigures figures = reference_step(graph, cluster, setting, candidate);
      ASSERT_EQ(cost, figures.cost) << "seed " << seed << " move " << move;
      if (std::isfinite(cost)) {
        ASSERT_EQ(simulator.starts(), figures.start) << "seed " << seed << " move " << move;
      }
      if (random.below(3) != 0) continue;
      simulator.keep();
      kept = candidate;
    }
    simulated += simulator.simulated() - before;
    items += 80 * static_cast<std::uint64_t>(graph.size() * setting.micro_batches);
  }
  EXPECT_LT(simulated, items * 3 / 4);
}

TEST(RoutedStep, UnrunnableAssignmentIsNotKept) {
  std::vector<Node> nodes(3);
  for (Node& node : nodes) node.accelerator_ms = node.cpu_ms = 1;
  nodes[1].runs_on_accelerator = false;
  const Graph graph = make_graph(nodes, {{0, 1}, {1, 2}});
  RoutedSimulator simulator(graph, Cluster::uniform(1, 1, 1e9), {StepLinks::kRouted, 0, 1});
  EXPECT_TRUE(std::isinf(simulator.run({0, 0, 0})));
  simulator.keep();
  EXPECT_EQ(simulator.run({0, 1, 0}), 3);
  simulator.keep();
  EXPECT_TRUE(std::isinf(simulator.run({0, 0, 0})));
  EXPECT_EQ(simulator.run({0, 1, 1}), 3);
  EXPECT_EQ(simulator.run({0, 1, 0}), 3);
}

TEST(RoutedStep, AutoFindsOptimum) {
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    Random random(seed);
    const Graph graph = random_graph({8, 0.3, 0}, seed);
    Request request;
    request.objective = Objective::kStep;
    request.links = StepLinks::kRouted;
    request.micro_batches = 2;
    request.limits.evaluations = 4000;
    const Cluster cluster = random_tree(random, 2);
    double best = 1e300;
    for (int code = 0; code < 256; ++code) {
      std::vector<DeviceId> assignment;
      for (int i = 0; i < 8; ++i) assignment.push_back(code >> i & 1);
      best = std::min(best,
                      reference_step(graph, cluster, {StepLinks::kRouted, 0, 2}, assignment).cost);
    }
    const auto answer = place(graph, cluster, request);
    ASSERT_TRUE(answer.ok()) << answer.message();
    EXPECT_EQ(answer.value().cost, best);
  }
}

TEST(RoutedStep, RejectsUnsupportedRequests) {
  const Graph graph = fork();
  Request request;
  request.objective = Objective::kStep;
  request.links = StepLinks::kRouted;
  request.limits.evaluations = 10;
  Cluster cluster = tree();
  request.method = Method::kIlp;
  EXPECT_THAT(place(graph, cluster, request).message(), HasSubstr("no routed links"));
  request.method = Method::kList;
  EXPECT_TRUE(place(graph, cluster, request).ok());
  cluster.links.pop_back();
  EXPECT_THAT(place(graph, cluster, request).message(), HasSubstr("no links lead"));
  request.links = StepLinks::kEdge;
  request.micro_batches = 100'000;
  EXPECT_THAT(place(graph, cluster, request).message(), HasSubstr("micro-batches"));
}

}  // namespace
}  // namespace optile::placement
