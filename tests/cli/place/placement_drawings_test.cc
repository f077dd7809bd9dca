#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "bindings/cli/place/placement_dot.h"
#include "bindings/cli/place/placement_trace.h"

namespace optile::cli {
namespace {

using placement::Answer;
using placement::Cluster;
using placement::Graph;
using placement::Model;
using placement::Node;
using placement::Span;
using testing::HasSubstr;
using testing::Not;

// Nodes 0, 1, 2 of 1, 2 and 3 ms, 1000 bytes each; 0 is read by 1 and by 2, 1 comes before 2.
Model three_nodes() {
  std::vector<Node> nodes(3);
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    nodes[i].name = "layer " + std::to_string(i);
    nodes[i].accelerator_ms = static_cast<double>(i) + 1;
    nodes[i].output_bytes = 1000;
  }
  const auto nowhere = [](std::size_t) { return std::string(); };
  auto graph =
      Graph::make(std::move(nodes), {{0, 1, false}, {0, 2, false}, {1, 2, true}}, nowhere, nowhere);
  if (!graph.ok()) std::abort();
  return {std::move(graph).value(), "made", std::nullopt, {}};
}

// Node 2 is on the second device, the others are on the first.
Answer on_two_devices() {
  Answer answer;
  answer.assignment = {0, 0, 1};
  answer.load = {3, 3};
  answer.memory = {0, 2e9};
  answer.cost = 3;
  answer.feasible = true;
  answer.method = "block";
  return answer;
}

TEST(PlacementDot, ClustersNodesByDevice) {
  const std::string dot = placement_dot(three_nodes(), Cluster::uniform(3, 0, 1e9),
                                        on_two_devices(), "title", placement::Objective::kLoad);
  const std::size_t first = dot.find("subgraph cluster_0");
  const std::size_t second = dot.find("subgraph cluster_1");
  const std::size_t edges = dot.find(" -> ");
  ASSERT_NE(second, std::string::npos);
  EXPECT_EQ(dot.find("subgraph cluster_2"), std::string::npos);  // it has no nodes
  for (const char* node : {"n0 [", "n1 ["}) {
    EXPECT_GT(dot.find(node), first);
    EXPECT_LT(dot.find(node), second);
  }
  EXPECT_GT(dot.find("n2 ["), second);
  EXPECT_LT(dot.find("n2 ["), edges);
  EXPECT_THAT(dot, HasSubstr("n1 [label=\"layer 1\\n2 ms\"]"));
  EXPECT_THAT(dot, HasSubstr("3 ms, 2 GB"));
}

TEST(PlacementDot, LabelsEdgesBetweenDevices) {
  const std::string dot = placement_dot(three_nodes(), Cluster::uniform(2, 0, 1e9),
                                        on_two_devices(), "title", placement::Objective::kLoad);
  EXPECT_THAT(dot, HasSubstr("n0 -> n1;"));
  EXPECT_THAT(dot, HasSubstr("n0 -> n2 [color=red, label=\"1 kB\"];"));
  EXPECT_THAT(dot, HasSubstr("n1 -> n2 [style=dashed];"));
}

TEST(PlacementDot, ColoursDevicesDifferently) {
  Model model = three_nodes();
  const Cluster cluster = Cluster::uniform(2, 1, 1e9);
  Answer answer = on_two_devices();
  answer.assignment = {0, 1, 2};
  answer.load = answer.memory = {1, 2, 3};
  const std::string dot =
      placement_dot(model, cluster, answer, "title", placement::Objective::kLoad);
  std::set<std::string> colours;
  for (std::size_t at = dot.find("fillcolor"); at != std::string::npos;
       at = dot.find("fillcolor", at + 1)) {
    colours.insert(dot.substr(at, dot.find(']', at) - at));
  }
  EXPECT_EQ(colours.size(), 3U);
}

TEST(PlacementDot, EscapesLabels) {
  Model model = three_nodes();
  Answer answer = on_two_devices();
  answer.feasible = false;
  answer.violation = "too \"large\" & \\wide\n";
  answer.cost = answer.load[0] = std::numeric_limits<double>::infinity();
  const std::string dot = placement_dot(model, Cluster::uniform(2, 0, 1e9), answer, "title",
                                        placement::Objective::kLoad);
  EXPECT_THAT(dot, HasSubstr("not feasible: too \\\"large\\\" &amp; \\\\wide "));
  EXPECT_THAT(dot, Not(HasSubstr("inf ms")));
}

TEST(PlacementTrace, OverlappingTransfersUseSeparateTracks) {
  const std::vector<Span> spans = {{Span::What::kCompute, 0, 0, -1, 0, 1},
                                   {Span::What::kCompute, 0, 1, -1, 1, 1},  // takes no time
                                   {Span::What::kSend, 0, 0, 1, 1, 3},
                                   {Span::What::kSend, 0, 1, 1, 2, 4},
                                   {Span::What::kSend, 0, 1, 1, 3, 5},
                                   {Span::What::kCompute, 1, 2, -1, 5, 8}};
  const auto trace = nlohmann::json::parse(
      placement_trace(three_nodes().graph, Cluster::uniform(2, 0, 1e9), spans));
  std::vector<std::pair<int, int>> tracks;
  for (const auto& event : trace["traceEvents"]) {
    if (event["ph"] == "X") tracks.emplace_back(event["pid"], event["tid"]);
  }
  EXPECT_THAT(tracks, testing::ElementsAre(std::pair(0, 0), std::pair(0, 1), std::pair(0, 2),
                                           std::pair(0, 1), std::pair(1, 0)));
}

}  // namespace
}  // namespace optile::cli
