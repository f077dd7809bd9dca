#include "placement/graph.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "tests/placement/made_graphs.h"

namespace optile::placement {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<Node> named(int count) {
  std::vector<Node> nodes(static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i) nodes[static_cast<std::size_t>(i)].name = "n" + std::to_string(i);
  return nodes;
}

std::string graph_refusal(std::vector<Node> nodes, const std::vector<Edge>& edges) {
  const auto graph = Graph::make(std::move(nodes), edges, nowhere, nowhere);
  return graph.ok() ? "" : graph.message();
}

TEST(Graph, ListsNeighboursAndTopologicalOrder) {
  const Graph graph = make_graph(named(4), {{2, 0}, {0, 3, true}, {2, 3}, {2, 3}});
  EXPECT_THAT(graph.successors(2), ElementsAre(0, 3));
  EXPECT_THAT(graph.readers(0), ElementsAre());
  EXPECT_THAT(graph.successors(0), ElementsAre(3));
  EXPECT_THAT(graph.predecessors(3), ElementsAre(0, 2));
  EXPECT_THAT(graph.inputs(3), ElementsAre(2));
  EXPECT_THAT(graph.order(), ElementsAre(1, 2, 0, 3));
}

TEST(Graph, NamesEdgeThatClosesCycle) {
  const std::string text = graph_refusal(named(4), {{0, 1}, {1, 2}, {2, 1}, {2, 3}});
  EXPECT_THAT(text, HasSubstr("closes a cycle"));
  EXPECT_THAT(text, testing::AnyOf(HasSubstr("entry 1"), HasSubstr("entry 2")));
}

TEST(Graph, RejectsEmptyGraphsBadEdgesAndBadTimes) {
  EXPECT_THAT(graph_refusal({}, {}), HasSubstr("no nodes"));
  EXPECT_THAT(graph_refusal(named(2), {{0, 2}}), HasSubstr("entry 0: the edge has an end"));
  EXPECT_THAT(graph_refusal(named(2), {{0, 1}, {-1, 1}}),
              HasSubstr("entry 1: the edge has an end"));
  EXPECT_THAT(graph_refusal(named(2), {{1, 1}}), HasSubstr("to itself"));
  std::vector<Node> nodes = named(2);
  nodes[1].accelerator_ms = -1;
  EXPECT_THAT(graph_refusal(nodes, {}), HasSubstr("entry 1: the time on an accelerator"));
  nodes[1].accelerator_ms = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THAT(graph_refusal(nodes, {}), HasSubstr("entry 1"));
  nodes[1].accelerator_ms = 9e17;
  nodes[0].accelerator_ms = 9e17;
  EXPECT_THAT(graph_refusal(nodes, {}), HasSubstr("add up"));
}

}  // namespace
}  // namespace optile::placement
