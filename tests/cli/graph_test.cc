#include "bindings/cli/graph/graph_command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bindings/cli/graph/step_assembly.h"
#include "perfmodel/synthetic/step_graph_json.h"

namespace optile::cli {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// Two branches of one input, which a third node joins; as step_ops.py writes it.
Json model() {
  return Json::parse(R"({"format": "optile fx graph", "version": 2, "name": "net", "nodes": [
    {"name": "x", "op": "placeholder", "inputs": [], "output_bytes": 64, "ops": []},
    {"name": "a", "op": "call_module", "inputs": ["x"], "output_bytes": 128, "colour": 5, "ops": [
      {"op": "aten::linear", "shape": "[2,8] [16,8] [16] ", "pass": "forward", "ms": 2.0},
      {"op": "AddmmBackward0", "shape": "[2,16] ", "pass": "backward", "ms": 4.0},
      {"op": "TBackward0", "shape": "[8,16] ", "pass": "backward", "ms": 1.0}]},
    {"name": "view", "op": "call_method", "inputs": ["x"], "output_bytes": 64, "ops": []},
    {"name": "add", "op": "call_function", "inputs": ["a", "view"], "output_bytes": 32, "ops": [
      {"op": "aten::add", "shape": "[2,16] [2,16] ", "pass": "forward", "ms": 1.0},
      {"op": "AddBackward0", "shape": "[2,16] ", "pass": "backward", "ms": 0.5}]}]})");
}

OpMeasurements linear_alone() {
  return [](const std::string& op, const std::string& shape, bool backward) {
    const bool known = op == "aten::linear" && shape == "[2,8] [16,8] [16] " && !backward;
    return known ? std::optional<SecondsByWidth>({{1, 0.4}, {4, 0.1}}) : std::nullopt;
  };
}

TEST(StepAssembly, TakesTimesOfTheRunAndMarksEstimates) {
  const base::Result<AssembledStep> made = assemble_step(model(), linear_alone(), 4);
  ASSERT_TRUE(made.ok()) << made.message();
  const perfmodel::StepGraph& graph = made.value().graph;
  ASSERT_EQ(graph.instances.size(), 5u);
  const perfmodel::OpInstance& linear = graph.instances[0];
  EXPECT_FALSE(linear.estimated);
  EXPECT_TRUE(linear.tunable);
  EXPECT_THAT(linear.times.spread, ElementsAre(0.4));
  ASSERT_EQ(linear.times.compact.size(), 4u);
  EXPECT_DOUBLE_EQ(linear.times.compact[1], 0.3);  // between widths on a line
  EXPECT_DOUBLE_EQ(linear.times.compact[3], 0.1);
  EXPECT_EQ(linear.output_bytes, 128);
  const perfmodel::OpInstance& add = graph.instances[1];
  EXPECT_TRUE(add.estimated);
  EXPECT_FALSE(add.tunable);
  EXPECT_THAT(add.times.spread, ElementsAre(0.001));
  EXPECT_EQ(made.value().ops, 5u);
  EXPECT_EQ(made.value().matched, 1u);
  EXPECT_NEAR(made.value().matched_seconds / made.value().seconds, 0.1 / 0.1065, 1e-9);
}

TEST(StepAssembly, OrdersBackwardPassBehindReadersGradients) {
  const perfmodel::StepGraph graph = assemble_step(model(), linear_alone(), 4).value().graph;
  ASSERT_EQ(graph.nodes.size(), 5u);
  EXPECT_THAT(graph.nodes[0].inputs, IsEmpty());
  EXPECT_THAT(graph.nodes[1].inputs, ElementsAre(0));  // "view" runs nothing
  EXPECT_THAT(graph.nodes[2].inputs, ElementsAre(1));  // the loss is the last one's
  EXPECT_THAT(graph.nodes[3].inputs, ElementsAre(2, 0));
  EXPECT_THAT(graph.nodes[4].inputs, ElementsAre(3));
  EXPECT_EQ(graph.nodes[4].name, "a");
  EXPECT_EQ(graph.nodes[4].colour, 5);
  EXPECT_EQ(graph.nodes[1].colour, graph.nodes[2].colour);
  EXPECT_NE(graph.nodes[1].colour, graph.nodes[0].colour);
  EXPECT_TRUE(graph.instances[static_cast<std::size_t>(graph.nodes[4].instance)].backward);
  const base::Result<perfmodel::StepGraph> again =
      perfmodel::parse_step_graph(perfmodel::step_graph_text(graph));
  ASSERT_TRUE(again.ok()) << again.message();
  EXPECT_TRUE(again.value().instances[1].estimated);
  EXPECT_TRUE(perfmodel::check_step_graph(again.value(), {4, 1, false}).ok());
}

TEST(StepAssembly, SaysWhatIsNoModelWithOps) {
  const auto refused = [](const Json& json) {
    return assemble_step(json, linear_alone(), 4).message();
  };
  Json old = model();
  old["version"] = 1;
  EXPECT_THAT(refused(old), HasSubstr("optile.step_ops.save"));
  EXPECT_THAT(refused(Json::array()), HasSubstr("optile.step_ops.save"));
  Json circle = model();
  circle["nodes"][1]["inputs"] = {"add"};
  EXPECT_THAT(refused(circle), HasSubstr("no node before it"));
  Json without = model();
  for (Json& node : without["nodes"]) node["ops"] = Json::array();
  EXPECT_THAT(refused(without), HasSubstr("no ops"));
  Json other = model();
  other["nodes"][0].erase("name");
  EXPECT_THAT(refused(other), HasSubstr("missing"));
}

TEST(FindOp, IsOfTheNameShapeAndDirection) {
  const std::string cut(127, '1');
  const Json rows = {{{"id", "1"},
                      {"name", "aten::a"},
                      {"shape", "[2]"},
                      {"direction", "forward"},
                      {"executions", 3}},
                     {{"id", "2"},
                      {"name", "aten::a"},
                      {"shape", "[2] "},
                      {"direction", "backward"},
                      {"executions", 9}},
                     {{"id", "3"},
                      {"name", "aten::a"},
                      {"shape", "[3]"},
                      {"direction", "forward"},
                      {"executions", 5}},
                     {{"id", "4"},
                      {"name", "aten::a"},
                      {"shape", "[2]"},
                      {"direction", "forward"},
                      {"executions", 4}},
                     {{"id", "5"},
                      {"name", "aten::cat"},
                      {"shape", "2 x [4]"},
                      {"direction", "forward"},
                      {"executions", 1}},
                     {{"id", "6"},
                      {"name", "aten::long"},
                      {"shape", cut},
                      {"direction", "forward"},
                      {"executions", 1}}};
  EXPECT_EQ(find_op(rows, "aten::a", "[2] ", false)["id"], "4");  // executed most often
  EXPECT_EQ(find_op(rows, "aten::a", "[2] ", true)["id"], "2");
  EXPECT_TRUE(find_op(rows, "aten::a", "[4] ", false).is_null());
  EXPECT_EQ(find_op(rows, "aten::cat", "0 x ", false)["id"], "5");
  EXPECT_TRUE(find_op(rows, "aten::a", "0 x ", false).is_null());  // of two shapes
  EXPECT_EQ(find_op(rows, "aten::long", cut + "11", false)["id"], "6");
}

}  // namespace
}  // namespace optile::cli
