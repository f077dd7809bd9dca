#include "perfmodel/synthetic/step_graph.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "perfmodel/synthetic/step_graph_json.h"

namespace optile::perfmodel {
namespace {

using testing::HasSubstr;

constexpr CaseSpace kPairOfTiles{4, 2, true};

StepGraph chain() {
  StepGraph graph;
  graph.name = "chain";
  graph.machine = "small \"box\"";
  OpInstance op;
  op.op = "MatMul";
  op.shape = "(2,3)";
  op.memory_share = 0.25;
  for (const Configuration which : kPairOfTiles.all()) op.times.set(which, 1.0 / 3.0 / which.width);
  graph.instances = {op, op};
  graph.instances[1].op = "Add";
  graph.instances[1].tunable = false;
  graph.instances[1].default_width = 2;
  graph.nodes = {{0, {}}, {1, {0}}, {0, {0, 1}}};
  return graph;
}

std::string refused(const StepGraph& graph) {
  const base::Status status = check_step_graph(graph, kPairOfTiles);
  return status.ok() ? "nothing was refused" : status.message();
}

TEST(StepGraph, AcceptsValidGraph) {
  EXPECT_TRUE(check_step_graph(chain(), kPairOfTiles).ok());
  EXPECT_EQ(topological_order(chain()), (std::vector<int>{0, 1, 2}));
}

TEST(StepGraph, RejectsInvalidFieldWithItsPath) {
  StepGraph graph = chain();
  graph.nodes[2].instance = 7;
  EXPECT_THAT(refused(graph), HasSubstr("nodes[2].instance: there is no instance 7"));
  graph = chain();
  graph.nodes[1].inputs = {0, 9};
  EXPECT_THAT(refused(graph), HasSubstr("nodes[1].inputs[1]: there is no node 9"));
  graph = chain();
  graph.nodes[1].inputs = {0, 0};
  EXPECT_THAT(refused(graph), HasSubstr("nodes[1].inputs[1]: node 0 is an input twice"));
  graph = chain();
  graph.instances[1].times.spread[0] = -2;
  EXPECT_THAT(refused(graph), HasSubstr("instances[1].times.spread[0]"));
  graph = chain();
  graph.instances[1].times.spread[0] = 1e300;
  EXPECT_THAT(refused(graph), HasSubstr("instances[1].times.spread[0]: longer than"));
  graph.instances[1].times.spread[0] = kMaxOpSeconds;
  EXPECT_EQ(refused(graph), "nothing was refused");
  for (const int width : {-1, kMaxDefaultWidth + 1}) {
    graph.instances[1].default_width = width;
    EXPECT_THAT(refused(graph), HasSubstr("instances[1].default_width: " + std::to_string(width)));
  }
  graph = chain();
  graph.instances[0].memory_share = 1.5;
  EXPECT_THAT(refused(graph), HasSubstr("instances[0].memory_share"));
  graph = chain();
  graph.instances[0].times.compact.clear();
  EXPECT_THAT(refused(graph), HasSubstr("no time at width 4; the machine has 4 cores"));
  graph = chain();
  graph.instances[0].times.spread.push_back(1.0);
  EXPECT_THAT(refused(graph), HasSubstr("no such case at width 3"));
  EXPECT_THAT(refused(StepGraph{}), HasSubstr("at least one op"));
}

TEST(StepGraph, ReportsNodesOfCycle) {
  StepGraph graph = chain();
  graph.nodes = {{0, {}}, {1, {0, 3}}, {0, {1}}, {1, {2}}, {0, {3}}};
  const std::string message = refused(graph);
  EXPECT_THAT(message, HasSubstr("a cycle of 3 nodes"));
  for (const char* node : {"1 (Add)", "2 (MatMul)", "3 (Add)"}) {
    EXPECT_THAT(message, HasSubstr(node));
  }
  graph.nodes = {{0, {0}}};
  EXPECT_THAT(refused(graph), HasSubstr("nodes[0]: a cycle of 1 nodes: 0 (MatMul) -> 0"));
}

TEST(StepGraphFile, RoundTripsThroughText) {
  const StepGraph graph = chain();
  const auto read = parse_step_graph(step_graph_text(graph));
  ASSERT_TRUE(read.ok()) << read.message();
  EXPECT_EQ(step_graph_text(read.value()), step_graph_text(graph));
  EXPECT_EQ(read.value().machine, graph.machine);
  EXPECT_EQ(read.value().instances[0].times.compact, graph.instances[0].times.compact);
  EXPECT_EQ(read.value().instances[1].default_width, 2);
  EXPECT_EQ(read.value().nodes[2].inputs, graph.nodes[2].inputs);
}

TEST(StepGraphFile, EveryPrefixFailsWithLineNumber) {
  const std::string text = step_graph_text(chain());
  for (std::size_t length = 0; length + 1 < text.size(); ++length) {
    const auto read = parse_step_graph(text.substr(0, length));
    ASSERT_FALSE(read.ok()) << length;
    EXPECT_THAT(read.message(), HasSubstr("line ")) << length;
  }
}

TEST(StepGraphFile, RejectsUnknownMissingAndMistypedFields) {
  const auto message = [](const std::string& text) { return parse_step_graph(text).message(); };
  const std::string head = R"({"format": "optile step graph", "version": 1, )";
  const std::string times = R"("times": {"spread": [1]})";
  EXPECT_THAT(message(R"({"format": "a cake", "version": 1, "instances": [], "nodes": []})"),
              HasSubstr("format"));
  EXPECT_THAT(message(R"({"format": "optile step graph", "version": 9})"), HasSubstr("version: 9"));
  EXPECT_THAT(message(R"({"version": 1})"), HasSubstr("format: \"optile step graph\" is expected"));
  EXPECT_THAT(message(R"({"nodes": [], "edges": []})"), HasSubstr("format: "));
  EXPECT_THAT(message(head + R"("nodes": [], "instances": 3})"), HasSubstr("instances"));
  EXPECT_THAT(message(head + R"("instances": [{"op": "A", "colour": 1}], "nodes": []})"),
              HasSubstr("instances[0].colour: there is no such field"));
  EXPECT_THAT(message(head + R"("instances": [{"op": "A"}], "nodes": []})"),
              HasSubstr("instances[0]: has no \"times\""));
  EXPECT_THAT(message(head + R"("instances": [{"op": "A", "times": {"spread": ["x"]}}]})"),
              HasSubstr("instances[0].times.spread[0]"));
  EXPECT_THAT(message(head + R"("instances": [{"op": "A", )" + times +
                      R"(}], "nodes": [{"instance": 1.5}]})"),
              HasSubstr("nodes[0].instance: a whole number"));
  EXPECT_THAT(message(head + R"("nodes": [{"instance": 99999999999}], "instances": []})"),
              HasSubstr("too large"));
  EXPECT_THAT(message(head + R"("name": "a", "name": "b"})"), HasSubstr("\"name\" occurs twice"));
  EXPECT_THAT(message("[1]"), HasSubstr("object is expected"));
  EXPECT_THAT(message(head + "} x"), HasSubstr("line 1"));
}

TEST(StepGraphFile, RejectsOversizedAndDeeplyNestedFiles) {
  EXPECT_THAT(parse_step_graph(std::string(1 << 20, '[')).message(), HasSubstr("deep"));
  EXPECT_THAT(parse_step_graph(std::string(kMaxStepGraphBytes + 1, ' ')).message(),
              HasSubstr("larger than 32 MiB"));
  EXPECT_THAT(read_step_graph("/dev/zero").message(), HasSubstr("/dev/zero: larger"));
  const auto missing = read_step_graph("no-such-file.json");
  EXPECT_EQ(missing.error().kind, base::ErrorKind::kNotFound);
}

}  // namespace
}  // namespace optile::perfmodel
