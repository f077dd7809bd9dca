// Units grouped before a policy learns.
#include "placement/policy/groups.h"

#include <gtest/gtest.h>

#include "placement/methods/partitioners.h"
#include "tests/placement/made_graphs.h"

namespace optile::placement::policy {
namespace {

TEST(Groups, PreserveTotalTimeWithinGroupLimit) {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    const Graph graph = random_graph({200, 0.02, 10}, seed);
    const Cluster cluster = Cluster::uniform(2, 1, 1e9);
    const Units units = Units::of(graph, cluster);
    const Units groups = grouped(units, branch_order(graph, units), 20);
    EXPECT_LE(groups.size(), 20);
    EXPECT_GE(groups.size(), 5);
    double before = 0;
    double after = 0;
    double longest = 0;
    for (UnitId unit = 0; unit < units.size(); ++unit) before += units.time_ms(unit, 0);
    for (UnitId group = 0; group < groups.size(); ++group) {
      after += groups.time_ms(group, 0);
      longest = std::max(longest, groups.time_ms(group, 0));
    }
    EXPECT_NEAR(before, after, 1e-9 * before);
    EXPECT_LE(longest, before / 2) << "seed " << seed;
  }
}

TEST(Groups, KeepUnrunnableNodesSeparate) {
  std::vector<Node> nodes(40);
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    nodes[i].accelerator_ms = nodes[i].cpu_ms = 1;
    nodes[i].output_ms = 1;
    nodes[i].runs_on_accelerator = i % 2 == 0;
  }
  std::vector<Edge> edges;
  for (NodeId id = 1; id < 40; ++id) edges.push_back({id - 1, id});
  const Graph graph = make_graph(nodes, edges);
  Cluster cluster = Cluster::uniform(2, 0, 1e9);
  const Units units = Units::of(graph, cluster);
  // Every second node runs nowhere, so that a group with one would not run either.
  const Units groups = grouped(units, branch_order(graph, units), 4);
  for (UnitId group = 0; group < groups.size(); ++group) {
    if (groups.time_ms(group, 0) == std::numeric_limits<double>::infinity()) continue;
    EXPECT_LE(groups.time_ms(group, 0), 20);
  }
  EXPECT_EQ(groups.size(), 40);
}

}  // namespace
}  // namespace optile::placement::policy
