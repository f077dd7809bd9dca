#include "bindings/cli/place/picture/placement_picture.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "bindings/cli/place/picture/drawn_graph.h"
#include "bindings/cli/place/picture/svg.h"
#include "placement/random.h"

namespace optile::cli {
namespace {

using placement::Answer;
using placement::Cluster;
using placement::DeviceId;
using placement::Edge;
using placement::Graph;
using placement::Model;
using placement::Node;
using placement::NodeId;
using testing::HasSubstr;
using testing::Not;

Graph graph_of(std::vector<Node> nodes, const std::vector<Edge>& edges) {
  const auto nowhere = [](std::size_t) { return std::string(); };
  auto graph = Graph::make(std::move(nodes), edges, nowhere, nowhere);
  if (!graph.ok()) std::abort();
  return std::move(graph).value();
}

// A chain with a branch every tenth node.
Graph long_graph(int size) {
  std::vector<Node> nodes(static_cast<std::size_t>(size));
  std::vector<Edge> edges;
  for (int i = 0; i < size; ++i) {
    Node& node = nodes[static_cast<std::size_t>(i)];
    node.name = "node " + std::to_string(i);
    node.accelerator_ms = 1 + i % 3;
    node.output_bytes = 1000;
    if (i > 0) edges.push_back({i - 1, i, false});
    if (i > 10 && i % 10 == 0) edges.push_back({i - 9, i, false});
  }
  return graph_of(std::move(nodes), edges);
}

Answer in_blocks(const Graph& graph, int devices) {
  Answer answer;
  answer.load.assign(static_cast<std::size_t>(devices), 0);
  answer.memory = answer.load;
  for (NodeId id = 0; id < graph.size(); ++id) {
    const auto device =
        static_cast<DeviceId>(static_cast<std::int64_t>(id) * devices / graph.size());
    answer.assignment.push_back(device);
    answer.load[static_cast<std::size_t>(device)] += graph.node(id).accelerator_ms;
  }
  answer.cost = *std::max_element(answer.load.begin(), answer.load.end());
  answer.feasible = true;
  answer.method = "block";
  return answer;
}

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) {
    ++found;
  }
  return found;
}

std::string picture(int nodes, int devices) {
  const Model model{long_graph(nodes), "made", std::nullopt, {}};
  const Cluster cluster = Cluster::uniform(devices, 0, 1e9);
  return placement_picture(model, cluster, in_blocks(model.graph, devices), {}, "title", "load");
}

TEST(Picture, IsOfBoundedSize) {
  for (const auto& [nodes, devices] :
       {std::pair(1, 1), {10, 2}, {300, 4}, {50'000, 8}, {5000, 900}}) {
    const std::string svg = picture(nodes, devices);
    EXPECT_LT(svg.size(), 600'000U) << nodes;
    EXPECT_EQ(count(svg, "<svg"), 1U);
    EXPECT_TRUE(svg.ends_with("</svg>\n"));
    EXPECT_THAT(svg, Not(HasSubstr("nan")));
    EXPECT_THAT(svg, Not(HasSubstr("inf")));
  }
}

TEST(Picture, ShowsDevicesAndFigures) {
  const std::string svg = picture(10, 2);
  EXPECT_THAT(svg, HasSubstr("accelerator 1"));
  EXPECT_THAT(svg, HasSubstr("5 nodes"));
  EXPECT_THAT(svg, HasSubstr("by block; 10 nodes, 9 edges"));
  EXPECT_THAT(svg, HasSubstr(">node 3<"));
}

TEST(Picture, NamesTheDevicesThatItLeavesOut) {
  EXPECT_THAT(picture(300, 20), HasSubstr("and 4 more devices"));
}

TEST(Picture, DrawsWhatHappensWhen) {
  const Model model{long_graph(12), "made", std::nullopt, {}};
  const Cluster cluster = Cluster::uniform(2, 0, 1e9);
  using What = placement::Span::What;
  const std::string svg = placement_picture(model, cluster, in_blocks(model.graph, 2),
                                            {{What::kCompute, 0, 3, -1, 0, 5},
                                             {What::kSend, 0, 3, 1, 5, 7},
                                             {What::kCompute, 1, 4, -1, 7, 9}},
                                            "title", "step");
  EXPECT_THAT(svg, HasSubstr("node 3, 0 ms, for 5.00 ms"));
  EXPECT_THAT(svg, HasSubstr("node 3 to accelerator 1, 5.00 ms, for 2.00 ms"));
}

TEST(Picture, SaysWhyAnAnswerIsNotFeasible) {
  const Model model{long_graph(3), "made", std::nullopt, {}};
  Answer answer = in_blocks(model.graph, 1);
  answer.feasible = false;
  answer.violation = "too <large>";
  answer.cost = std::numeric_limits<double>::infinity();
  answer.load[0] = answer.cost;
  const std::string svg =
      placement_picture(model, Cluster::uniform(1, 0, 1e9), answer, {}, "title", "load");
  EXPECT_THAT(svg, HasSubstr("not feasible: too &lt;large&gt;"));
  EXPECT_THAT(svg, Not(HasSubstr("inf")));
}

TEST(SvgText, IsWellFormedWhateverItIsGiven) {
  EXPECT_EQ(svg_text("a<b> & \"c\"", 20), "a&lt;b&gt; &amp; &quot;c&quot;");
  EXPECT_EQ(svg_text(std::string("a\x01\n\x7f", 4), 20), "a   ");
  EXPECT_EQ(svg_text("\xff\xfe", 20), "\xef\xbf\xbd\xef\xbf\xbd");
  EXPECT_EQ(svg_text("a\xef\xbf\xbe\xef\xbf\xbf\xef\xbf\xbc", 20),
            "a\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbc");
  EXPECT_EQ(svg_text("größer", 3), "grö…");
  EXPECT_EQ(svg_text(std::string(5000, '&'), 2), "&amp;&amp;…");
}

TEST(DrawnGraph, JoinsWhatFollowsAndWhatFeeds) {
  // 50 chain nodes on two devices, each but the first fed by a weight of its own.
  std::vector<Node> nodes(99);
  std::vector<Edge> edges;
  for (int i = 1; i < 50; ++i) {
    edges.push_back({i - 1, i, false});
    edges.push_back({49 + i, i, false});
  }
  for (Node& node : nodes) node.accelerator_ms = 1;
  const Graph graph = graph_of(std::move(nodes), edges);
  std::vector<DeviceId> devices(99, 0);
  for (std::size_t i = 25; i < 50; ++i) devices[i] = devices[i + 49] = 1;
  const DrawnGraph drawn = drawn_graph(graph, Cluster::uniform(2, 0, 1e9), devices);
  ASSERT_EQ(drawn.boxes.size(), 2U);
  EXPECT_EQ(drawn.boxes[0].nodes, 49);
  EXPECT_EQ(drawn.boxes[1].nodes, 50);
  EXPECT_EQ(drawn.boxes[1].column, 1);
  ASSERT_EQ(drawn.flows.size(), 1U);
}

TEST(DrawnGraph, KeepsBoxesApartWhateverTheGraph) {
  placement::Random random(4);
  for (int round = 0; round < 20; ++round) {
    std::vector<Node> nodes(120);
    std::vector<Edge> edges;
    for (int i = 1; i < 120; ++i) {
      for (int k = 0; k < 2; ++k) edges.push_back({random.below(i), i, false});
    }
    const Graph graph = graph_of(std::move(nodes), edges);
    std::vector<DeviceId> devices;
    for (int i = 0; i < 120; ++i) devices.push_back(random.below(3));
    const DrawnGraph drawn = drawn_graph(graph, Cluster::uniform(3, 0, 1e9), devices);
    if (drawn.stretches) continue;
    for (std::size_t a = 0; a < drawn.boxes.size(); ++a) {
      EXPECT_GE(drawn.boxes[a].row, -1e-9);
      for (std::size_t b = 0; b < a; ++b) {
        if (drawn.boxes[a].column != drawn.boxes[b].column) continue;
        EXPECT_GE(std::abs(drawn.boxes[a].row - drawn.boxes[b].row), 1 - 1e-9);
      }
    }
    for (const DrawnFlow& flow : drawn.flows) {
      EXPECT_LT(drawn.boxes[static_cast<std::size_t>(flow.from)].column,
                drawn.boxes[static_cast<std::size_t>(flow.to)].column);
    }
  }
}

}  // namespace
}  // namespace optile::cli
