#include "placement/previous_placement.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "placement/import/importer.h"
#include "placement/load/load_state.h"
#include "placement/place.h"
#include "tests/placement/made_graphs.h"

namespace optile::placement {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::int64_t moved_nodes(const std::vector<DeviceId>& before, const std::vector<DeviceId>& after) {
  std::int64_t moved = 0;
  for (std::size_t i = 0; i < before.size(); ++i) {
    moved += before[i] >= 0 && before[i] != after[i] ? 1 : 0;
  }
  return moved;
}

std::vector<DeviceId> devices_or_none(int nodes, int devices, std::uint64_t seed) {
  Random random(seed);
  std::vector<DeviceId> drawn;
  for (int i = 0; i < nodes; ++i) drawn.push_back(random.below(devices + 1) - 1);
  return drawn;
}

// Colours put nodes that were on different devices into one unit.
TEST(PreviousPlacement, CountsMovedNodesIncrementally) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const Graph graph = random_graph({30, 0.1, 8}, seed);
    const Cluster cluster = Cluster::uniform(3, 0, 1e9);
    const Units units = Units::of(graph, cluster);
    const std::vector<DeviceId> nodes = devices_or_none(graph.size(), 3, seed);
    const PreviousPlacement kept(units, nodes, 7);
    Random random(seed);
    std::vector<DeviceId> at = kept.start(units, Neighbours(units), {0, 1, 2});
    std::int64_t moved = kept.moved(at);
    for (int step = 0; step < 100; ++step) {
      const UnitId unit = random.below(units.size());
      const DeviceId to = random.below(3);
      DeviceId& mine = at[static_cast<std::size_t>(unit)];
      moved += kept.change(unit, mine, to);
      mine = to;
      ASSERT_EQ(moved, kept.moved(at));
      // A unit that has no single home counts at least what has to move, and never too little.
      ASSERT_GE(moved, moved_nodes(nodes, units.to_nodes(at)) - 8);
    }
  }
}

TEST(PreviousPlacement, StartPutsNewNodesBesideTheirNeighbours) {
  // 0 -> 1 -> 2 -> 3, 4 alone; 1 and 2 are new, and so is 4.
  std::vector<Node> nodes(5);
  for (std::size_t i = 0; i < nodes.size(); ++i) nodes[i].name = "n" + std::to_string(i);
  const Graph graph = make_graph(nodes, {{0, 1, false}, {1, 2, false}, {2, 3, false}});
  const Cluster cluster = Cluster::uniform(3, 0, 1e9);
  const Units units = Units::of(graph, cluster);
  const PreviousPlacement kept(units, {2, -1, -1, 2, -1}, 0);
  EXPECT_THAT(kept.start(units, Neighbours(units), {1}), ElementsAre(2, 2, 2, 2, 1));
}

TEST(PreviousPlacement, AutoRespectsMoveLimit) {
  for (const Objective objective : {Objective::kLoad, Objective::kLatency, Objective::kStep}) {
    for (const std::uint64_t most : {std::uint64_t{0}, std::uint64_t{3}, std::uint64_t{40}}) {
      const Graph graph = random_graph({40, 0.1, 0}, 5);
      const Cluster cluster = Cluster::uniform(3, 1, 1e9);
      Request request;
      request.objective = objective;
      request.limits.evaluations = 4000;
      // In blocks, so that latency's parts do not wait for each other; two nodes are new.
      for (int i = 0; i < 40; ++i) request.kept.push_back(i < 30 ? 0 : 1);
      request.kept[7] = request.kept[35] = -1;
      request.most_moved = most;
      const auto answer = place(graph, cluster, request);
      ASSERT_TRUE(answer.ok()) << answer.message();
      EXPECT_TRUE(answer.value().feasible) << answer.value().violation;
      EXPECT_EQ(answer.value().moved, moved_nodes(request.kept, answer.value().assignment));
      EXPECT_LE(answer.value().moved, static_cast<std::int64_t>(most));
      if (most > 3) {
        request.most_moved = 0;
        EXPECT_LT(answer.value().cost, place(graph, cluster, request).value().cost);
      }
    }
  }
}

// All that was on a device that is gone has to go elsewhere, and does not count.
TEST(PreviousPlacement, ReplacesRemovedDeviceWithoutCountingMoves) {
  const Graph graph = random_graph({24, 0.1, 0}, 3);
  Request request;
  request.limits.evaluations = 3000;
  for (int i = 0; i < 24; ++i) request.kept.push_back(i % 3 - 1);
  const auto answer = place(graph, Cluster::uniform(2, 0, 1e9), request);
  ASSERT_TRUE(answer.ok());
  EXPECT_TRUE(answer.value().feasible) << answer.value().violation;
  EXPECT_EQ(answer.value().moved, 0);
}

TEST(PreviousPlacement, RejectsMethodsOtherThanAuto) {
  Request request;
  request.method = Method::kMetis;
  request.kept.assign(12, 0);
  const auto answer = place(random_graph({}, 1), Cluster::uniform(2, 0, 1e9), request);
  ASSERT_FALSE(answer.ok());
  EXPECT_THAT(answer.message(), HasSubstr("only the method auto"));
}

Graph graph_of(const std::vector<std::string>& names) {
  std::vector<Node> nodes(names.size());
  for (std::size_t i = 0; i < names.size(); ++i) nodes[i].name = names[i];
  return make_graph(nodes, {});
}

TEST(EarlierAnswer, MatchesNodesAndDevicesByName) {
  const Cluster cluster = Cluster::uniform(2, 0, 1e9);
  const std::string one = cluster.device(0).name;
  const std::string other = cluster.device(1).name;
  const std::string text = R"({"nodes":["a","b","b","c"],"assignment":[0,1,2,2],"devices":[")" +
                           other + R"(","gone",")" + one + R"("]})";
  const auto kept = read_earlier_answer(text, graph_of({"c", "new", "b", "a", "b", "b"}), cluster);
  ASSERT_TRUE(kept.ok()) << kept.message();
  EXPECT_THAT(kept.value(), ElementsAre(0, -1, -1, 1, 0, -1));
}

TEST(EarlierAnswer, ReportsMalformedFields) {
  const std::pair<const char*, const char*> cases[] = {
      {R"({"assignment":[0],"devices":["a"]})", "nodes is missing"},
      {R"({"nodes":["a"],"devices":["a"]})", "assignment is missing"},
      {R"({"nodes":["a"],"assignment":[0]})", "devices is missing"},
      {R"({"nodes":["a"],"assignment":[0,0],"devices":["a"]})", "2 devices for 1 nodes"},
      {R"({"nodes":["a","b"],"assignment":[0,1],"devices":["a"]})", "assignment[1]"},
      {R"({"nodes":["a"],"assignment":[-1],"devices":["a"]})", "assignment[0]"},
      {R"({"nodes":["a"],"assignment":[0.5],"devices":["a"]})", "assignment[0]"},
      {R"({"nodes":[1],"assignment":[0],"devices":["a"]})", "nodes[0]"},
      {R"({"nodes":["a"],"assignment":[0],"devices":[null]})", "devices[0]"},
      {R"([0, 1])", "an object is expected"},
      {R"({"nodes":["a"])", "truncated"}};
  for (const auto& [text, what] : cases) {
    const auto kept = read_earlier_answer(text, graph_of({"a"}), Cluster::uniform(1, 0, 1e9));
    ASSERT_FALSE(kept.ok()) << text;
    EXPECT_THAT(kept.message(), HasSubstr(what)) << text;
  }
}

}  // namespace
}  // namespace optile::placement
