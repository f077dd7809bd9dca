// Bounds that take time: below every placement, above the free bounds, and what they are made of
// against brute force.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <memory>

#include "placement/bound.h"
#include "placement/latency/latency.h"
#include "placement/latency/latency_program.h"
#include "placement/load/covering_bound.h"
#include "placement/load/fitting_sets.h"
#include "placement/load/load_bound.h"
#include "placement/place.h"
#include "tests/placement/least_load.h"
#include "tests/placement/made_graphs.h"
#include "tests/sanitized.h"

namespace optile::placement {
namespace {

// What a set of units loads an accelerator with, by the definition.
double load_of(const Units& units, const std::vector<double>& time, unsigned set) {
  const auto has = [&](UnitId unit) { return (set >> unit & 1U) != 0; };
  double load = 0;
  for (UnitId unit = 0; unit < units.size(); ++unit) {
    if (has(unit)) load += time[static_cast<std::size_t>(unit)];
  }
  for (int net = 0; net < static_cast<int>(units.nets().size()); ++net) {
    const Net& one = units.nets()[static_cast<std::size_t>(net)];
    const auto readers = units.readers(net);
    const bool divided = std::any_of(readers.begin(), readers.end(), [&](UnitId reader) {
      return has(reader) != has(one.producer);
    });
    if (divided) load += one.ms;
  }
  return load;
}

struct Priced {
  std::vector<double> time, price;
};

Priced random_prices(const Units& units, std::uint64_t seed) {
  Random random(seed);
  Priced priced;
  for (UnitId unit = 0; unit < units.size(); ++unit) {
    priced.time.push_back(units.time_ms(unit, 0));
    priced.price.push_back(random.below(3) == 0 ? 0 : random.unit());
  }
  return priced;
}

double price_of(const Priced& priced, unsigned set) {
  double sum = 0;
  for (std::size_t unit = 0; unit < priced.price.size(); ++unit) {
    if ((set >> unit & 1U) != 0) sum += priced.price[unit];
  }
  return sum;
}

double dearest(const Units& units, const Priced& priced, double load) {
  double best = 0;
  for (unsigned set = 0; set < 1U << units.size(); ++set) {
    if (load_of(units, priced.time, set) <= load) best = std::max(best, price_of(priced, set));
  }
  return best;
}

TEST(FittingSets, BestIsAtLeastOptimumWithinCellRounding) {
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    const Graph graph = random_graph({10, 0.25, 1}, seed);
    const Cluster cluster = Cluster::uniform(2, 0, 1e9);
    const Units units = Units::of(graph, cluster);
    const Priced priced = random_prices(units, seed);
    const FittingPlan plan(units, 4096);
    EXPECT_EQ(plan.left_out(), 0);
    FittingSets sets(plan);
    constexpr double kMost = 120;
    constexpr int kCells = 4000;
    sets.price(priced.time, priced.price, kMost, kCells);
    for (double load = 3; load < kMost; load += 9.7) {
      EXPECT_GE(sets.best(load), dearest(units, priced, load) - 1e-12) << seed << " " << load;
      // Each of the ten units may lose a cell to rounding.
      const double later = load + 10 * kMost / kCells;
      EXPECT_LE(sets.best(load), dearest(units, priced, later) + 1e-12) << seed << " " << load;
    }
  }
}

TEST(FittingSets, SetReturnsUnitsThatAddUpToBest) {
  const Graph graph = random_graph({10, 0.25, 0}, 77);
  const Cluster cluster = Cluster::uniform(2, 0, 1e9);
  const Units units = Units::of(graph, cluster);
  const Priced priced = random_prices(units, 77);
  const FittingPlan plan(units, 4096);
  FittingSets sets(plan);
  sets.price(priced.time, priced.price, 120, 4000);
  for (double load = 10; load < 120; load += 11) {
    const FittingSets::Set found = sets.set(load);
    unsigned set = 0;
    for (const UnitId unit : found.units) set |= 1U << unit;
    EXPECT_NEAR(price_of(priced, set), sets.best(load), 1e-12);
    EXPECT_LE(found.load, load * (1 + 1e-6));
    EXPECT_LE(found.load, load_of(units, priced.time, set) + 1e-6);
    EXPECT_GE(found.load, load_of(units, priced.time, set) - 10 * 120.0 / 4000);
  }
}

// With few states nets are left out, and the answer can only be more.
TEST(FittingSets, BestStaysUpperBoundWithFewStatesAndCells) {
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    const Graph graph = random_graph({10, 0.5, 0}, seed);
    const Cluster cluster = Cluster::uniform(2, 0, 1e9);
    const Units units = Units::of(graph, cluster);
    const Priced priced = random_prices(units, seed);
    const FittingPlan plan(units, 3);
    EXPECT_GT(plan.left_out(), 0);
    FittingSets sets(plan);
    sets.price(priced.time, priced.price, 150, 17);
    for (double load = 3; load < 150; load += 9.7) {
      EXPECT_GE(sets.best(load), dearest(units, priced, load) - 1e-12) << seed << " " << load;
    }
  }
}

// One tensor that everybody reads, and one node that reads everybody's: both used to be looked at
// anew for each of them, which takes minutes here.
TEST(FittingSets, PlansQuicklyWithManyReadersPerNetOrNetsPerUnit) {
  constexpr int kReaders = test::kSanitized ? 20'000 : 200'000;
  std::vector<Node> nodes(kReaders + 2);
  std::vector<Edge> edges;
  for (Node& node : nodes) {
    node.accelerator_ms = 1;
    node.output_ms = 1;
  }
  for (NodeId id = 1; id <= kReaders; ++id) {
    edges.push_back({0, id, false});
    edges.push_back({id, kReaders + 1, false});
  }
  const Graph graph = make_graph(std::move(nodes), edges);
  const Cluster cluster = Cluster::uniform(2, 0, 1e9);
  const FittingPlan plan(Units::of(graph, cluster), 4);
  EXPECT_GT(plan.left_out(), 0);
}

// Of so many looks at a clock that only being looked at moves: the same on every machine.
Budget of_looks(int looks) {
  Limits limits;
  limits.seconds = looks;
  return Budget(limits, [now = std::make_shared<Budget::Clock::result_type>()] {
    return *now += std::chrono::seconds(1);
  });
}

TEST(CoveringBound, LiesBetweenFreeBoundAndOptimum) {
  double better = 0;
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    const Graph graph = random_graph({8, 0.3, 1}, seed);
    Cluster cluster = Cluster::uniform(2, 1, 1e9);
    if (seed % 2 == 0) cluster.devices[1].speed = 2;
    const Units units = Units::of(graph, cluster);
    const LoadProblem problem{units, cluster};
    const double free = work_bound(problem);
    const double least = least_load(graph, cluster);
    Budget budget = of_looks(100);
    const CoveringBound found = covering_bound(problem, free, least * 1.2, budget);
    EXPECT_GE(found.bound, free);
    EXPECT_LE(found.bound, least) << seed;
    better = std::max(better, found.bound / free);
  }
  EXPECT_GT(better, 1.05);
}

TEST(CoveringBound, RisesWhenMemoryIsShort) {
  double better = 0;
  int bounded = 0;
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    const Graph graph = random_graph({8, 0.25, 0}, seed);
    Cluster cluster = Cluster::uniform(2, 1, 14 + static_cast<double>(seed % 3));
    if (seed % 4 == 0) cluster.devices[1].memory_bytes = 8;
    const double least = least_load(graph, cluster);
    if (!(least < std::numeric_limits<double>::infinity())) continue;
    ++bounded;
    const auto proven = [&](const Cluster& devices) {
      const Units units = Units::of(graph, devices);
      const LoadProblem problem{units, devices};
      Budget budget = of_looks(100);
      return covering_bound(problem, work_bound(problem), least * 1.2, budget).bound;
    };
    Cluster roomy = cluster;
    for (Device& device : roomy.devices) device.memory_bytes = 1e9;
    const double bound = proven(cluster);
    EXPECT_LE(bound, least) << seed;
    better = std::max(better, bound / proven(roomy));
  }
  EXPECT_GT(bounded, 4);
  EXPECT_GT(better, 1.1);
}

// Three equal units and room for one on the accelerator: two are on the CPU, ten times as slow.
TEST(CoveringBound, CountsCpuTimeOfUnitsThatDoNotFit) {
  std::vector<Node> nodes(3);
  for (Node& node : nodes) {
    node.accelerator_ms = 1;
    node.cpu_ms = 10;
    node.memory_bytes = 3;
  }
  const Graph graph = make_graph(nodes, {});
  for (const double cap : {5.0, 2.0}) {
    const Cluster cluster = Cluster::uniform(1, 1, cap);
    const Units units = Units::of(graph, cluster);
    Budget budget = of_looks(100);
    const double bound = covering_bound({units, cluster}, 1, 40, budget).bound;
    // By parts of units 5/3 fit the cap of 5.
    const double expected = cap > 3 ? 10 * (3 - cap / 3) : 30;
    EXPECT_GT(bound, expected * 0.99) << cap;
    EXPECT_LE(bound, cap > 3 ? 20 : 30) << cap;
  }
}

// Two units that cannot be apart: whatever the prices, one device has both.
TEST(CoveringBound, RisesWhenTransfersKeepUnitsTogether) {
  std::vector<Node> nodes(3);
  for (Node& node : nodes) {
    node.accelerator_ms = 10;
    node.output_ms = 100;
  }
  nodes[2].output_ms = 0;
  const Graph graph = make_graph(nodes, {{0, 1, false}});
  const Cluster cluster = Cluster::uniform(2, 0, 1e9);
  const Units units = Units::of(graph, cluster);
  const LoadProblem problem{units, cluster};
  EXPECT_NEAR(work_bound(problem), 15, 1e-9);
  Budget budget = of_looks(100);
  const CoveringBound found = covering_bound(problem, 15, 20, budget);
  EXPECT_GT(found.bound, 19.9);
  EXPECT_LE(found.bound, 20);
}

TEST(CoveringBound, ReturnsIncompleteBoundWhenCancelled) {
  const Graph graph = random_graph({30, 0.2, 0}, 5);
  const Cluster cluster = Cluster::uniform(3, 0, 1e9);
  const Units units = Units::of(graph, cluster);
  const std::atomic<bool> cancelled = true;
  Limits limits;
  limits.cancelled = &cancelled;
  Budget budget(limits);
  const CoveringBound found = covering_bound({units, cluster}, 1, 1000, budget);
  EXPECT_FALSE(found.complete);
  EXPECT_GE(found.bound, 1);
}

TEST(LatencyBound, CountsCpuTimeOfNodesBeyondAcceleratorMemory) {
  // A chain of which half fits: five nodes on CPUs at 10 each, five on accelerators.
  std::vector<Node> nodes(10);
  std::vector<Edge> edges;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    nodes[i].accelerator_ms = 1;
    nodes[i].cpu_ms = 10;
    nodes[i].memory_bytes = 1;
    if (i > 0) edges.push_back({static_cast<NodeId>(i) - 1, static_cast<NodeId>(i), false});
  }
  const Graph graph = make_graph(nodes, edges);
  const Cluster cluster = Cluster::uniform(1, 1, 5);
  EXPECT_DOUBLE_EQ(latency_bound(graph, cluster), 10);
  Budget budget;
  const double bound = latency_program_bound(graph, cluster, 10, 100, budget);
  EXPECT_NEAR(bound, 55, 1e-2);
  EXPECT_LE(bound, 55);
}

TEST(LatencyBound, LiesBetweenFreeBoundAndOptimum) {
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    const Graph graph = random_graph({7, 0.3, 1}, seed);
    const Cluster cluster = Cluster::uniform(2, 1, 12);
    const Units units = Units::of(graph, cluster);
    double least = std::numeric_limits<double>::infinity();
    std::vector<DeviceId> devices(static_cast<std::size_t>(units.size()), 0);
    for (bool more = true; more;) {
      const LatencyFigures figures = evaluate_latency(graph, cluster, units.to_nodes(devices));
      if (figures.feasible) least = std::min(least, figures.cost);
      std::size_t at = 0;
      while (at < devices.size() && ++devices[at] == cluster.size()) devices[at++] = 0;
      more = at < devices.size();
    }
    Budget budget;
    const double free = latency_bound(graph, cluster);
    const double bound = latency_program_bound(graph, cluster, free,
                                               std::numeric_limits<double>::infinity(), budget);
    EXPECT_GE(bound, free);
    EXPECT_LE(bound, least) << seed;
  }
}

TEST(BoundTime, KeepsAssignmentAndNeverLowersBound) {
  const Graph graph = random_graph({24, 0.12, 0}, 3);
  const Cluster cluster = Cluster::uniform(3, 0, 1e9);
  for (const Objective objective : {Objective::kLoad, Objective::kLatency, Objective::kStep}) {
    Request request;
    request.objective = objective;
    request.method = Method::kBlock;
    const auto plain = place(graph, cluster, request);
    ASSERT_TRUE(plain.ok());
    request.bound_seconds = 0.2;
    const auto bound = place(graph, cluster, request);
    ASSERT_TRUE(bound.ok());
    EXPECT_EQ(bound.value().assignment, plain.value().assignment);
    EXPECT_GE(bound.value().lower_bound, plain.value().lower_bound);
    EXPECT_EQ(bound.value().bound_fault, "");
    EXPECT_GT(bound.value().bound_seconds, 0);
  }
  Request request;
  request.objective = Objective::kStep;
  request.method = Method::kBlock;
  request.bound_seconds = 0.1;
  EXPECT_FALSE(place(graph, Cluster::uniform(17, 0, 1e9), request).ok());
}

// A pipeline of two stages takes 4 + 4 / 8 ms with eight micro-batches; the program, which knows
// one batch, would prove 8. Nor does it know of links that are faster than the default one.
TEST(BoundTime, RejectsMicroBatchesAndRoutedLinks) {
  std::vector<Node> nodes(2);
  for (Node& node : nodes) node.accelerator_ms = 4;
  nodes[0].output_bytes = 1e6;
  const Graph graph = make_graph(nodes, {{0, 1, false}});
  Cluster cluster = Cluster::uniform(2, 0, 1e9);
  Request request;
  request.objective = Objective::kStep;
  request.method = Method::kBlock;
  request.bound_seconds = 0.1;
  EXPECT_TRUE(place(graph, cluster, request).ok());
  request.micro_batches = 8;
  EXPECT_THAT(place(graph, cluster, request).message(), testing::HasSubstr("one batch"));
  request.micro_batches = 1;
  request.links = StepLinks::kRouted;
  cluster.links = {{0, 1, 1e9, 0}};
  EXPECT_THAT(place(graph, cluster, request).message(), testing::HasSubstr("not routed"));
  request.objective = Objective::kLoad;  // which has no such links
  EXPECT_TRUE(place(graph, cluster, request).ok());
}

TEST(BoundTime, RejectsBoundAboveFeasibleCost) {
  Answer answer;
  answer.cost = 100;
  answer.lower_bound = 50;
  answer.feasible = true;
  take_bound(40, answer);
  EXPECT_EQ(answer.lower_bound, 50);
  take_bound(100.01, answer);
  EXPECT_EQ(answer.lower_bound, 50);
  EXPECT_THAT(answer.bound_fault, testing::HasSubstr("100.01"));
  answer.bound_fault.clear();
  take_bound(90, answer);
  EXPECT_EQ(answer.lower_bound, 90);
  take_bound(100 * (1 + 1e-9), answer);  // rounding
  EXPECT_EQ(answer.lower_bound, 100);
  EXPECT_EQ(answer.bound_fault, "");
  answer.feasible = false;  // such may cost less than any that is
  take_bound(120, answer);
  EXPECT_EQ(answer.lower_bound, 120);
}

}  // namespace
}  // namespace optile::placement
