#include "placement/methods/refine.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/placement/made_graphs.h"

namespace optile::placement {
namespace {

struct Case {
  Graph graph;
  Cluster cluster;
  Units units;
};

Case made(std::uint64_t seed) {
  Graph graph = random_graph({40, 0.12, 0}, seed);
  Cluster cluster = Cluster::uniform(4, 0, 1e9);
  cluster.devices[1].speed = 2;
  Units units = Units::of(graph, cluster);
  return {std::move(graph), std::move(cluster), std::move(units)};
}

// What falls first: work beyond epsilon of a share.
double violation(const Case& one, const UnitAssignment& assignment, double epsilon) {
  std::vector<double> work(4);
  double whole = 0;
  for (UnitId unit = 0; unit < one.units.size(); ++unit) {
    work[static_cast<std::size_t>(assignment[static_cast<std::size_t>(unit)])] +=
        one.units.time_ms(unit, 0);
    whole += one.units.time_ms(unit, 0);
  }
  double sum = 0;
  for (std::size_t d = 0; d < 4; ++d) {
    const double share = whole * one.cluster.devices[d].speed / 5;
    sum += std::max(0.0, std::abs(work[d] - share) - epsilon * share);
  }
  return sum;
}

TEST(Refine, TerminatesWithoutRaisingViolation) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const Case one = made(seed);
    const UnitAssignment start = at_random(one.units, one.cluster, seed);
    Budget budget;
    RefineOptions options;
    options.cheap = 0;
    const Refined found = refine(one.units, one.cluster, start, options, budget);
    EXPECT_TRUE(found.ended);
    EXPECT_LE(violation(one, found.assignment, 0.1), violation(one, start, 0.1) + 1e-9);
  }
}

TEST(Refine, CheapUnitFollowsHeaviestNeighbour) {
  std::vector<Node> nodes(3);
  nodes[0].accelerator_ms = nodes[2].accelerator_ms = 10;
  nodes[0].output_bytes = 1;
  nodes[1].output_bytes = 100;
  const Graph graph = make_graph(nodes, {{0, 1}, {1, 2}});
  const Cluster cluster = Cluster::uniform(2, 0, 1e9);
  const Units units = Units::of(graph, cluster);
  Budget budget;
  const Refined found = refine(units, cluster, {0, 0, 1}, {}, budget);
  EXPECT_EQ(found.assignment[1], found.assignment[2]);
  EXPECT_NE(found.assignment[0], found.assignment[2]);
}

}  // namespace
}  // namespace optile::placement
