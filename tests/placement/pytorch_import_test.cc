// Step graphs, and what comes out of PyTorch: FX graphs and execution traces.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/placement/read_texts.h"

namespace optile::placement {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

const char* const kStep = R"J({"format": "optile step graph", "version": 1, "instances": [
  {"op": "Conv", "shape": "(2,3)*(3,4)->(2,4)",
   "times": {"spread": [0.4, 0.2], "compact": [null, 0.1]}},
  {"op": "Add", "shape": "no shape", "times": {"spread": [0.03]}}],
 "nodes": [{"instance": 0}, {"instance": 1, "inputs": [0]},
           {"instance": 1, "inputs": [0, 1]}]})J";

const char* const kFx = R"J({"format": "optile fx graph", "version": 1, "measured_on": "cpu",
 "nodes": [
  {"name": "x", "op": "placeholder", "inputs": [], "output_bytes": 480},
  {"name": "fc", "op": "call_module", "kind": "Linear", "inputs": ["x"], "ms": 0.25,
   "output_bytes": 100, "parameter_bytes": 900, "colour": 2},
  {"name": "relu", "op": "call_function", "inputs": ["fc"], "flops": 5600000000,
   "output_bytes": 100}]})J";

// z = mm(x, w) within a mark, with a copy of its own inside, then another look at z, z += 1 in
// place, and both put together.
const char* const kTrace = R"J({"schema": "1.1.0-chakra.0.0.4", "pid": 1, "nodes": [
  {"id": 1, "name": "[pytorch|profiler|execution_trace|process]", "ctrl_deps": 0,
   "inputs": {"values": [], "shapes": [], "types": []},
   "outputs": {"values": [], "shapes": [], "types": []}, "attrs": []},
  {"id": 2, "name": "MmBackward0", "ctrl_deps": 1,
   "inputs": {"values": [[10, 110, 0, 6, 4, "cpu"]], "shapes": [[2, 3]],
              "types": ["Tensor(float)"]},
   "outputs": {"values": [], "shapes": [], "types": []}, "attrs": []},
  {"id": 3, "name": "aten::mm", "ctrl_deps": 2,
   "inputs": {"values": [[10, 110, 0, 6, 4, "cpu"], [11, 111, 0, 12, 4, "cpu"]],
              "shapes": [[2, 3], [3, 4]], "types": ["Tensor(float)", "Tensor(float)"]},
   "outputs": {"values": [[12, 112, 0, 8, 4, "cpu"]], "shapes": [[2, 4]],
               "types": ["Tensor(float)"]},
   "attrs": [{"name": "rf_id", "value": 3}, {"name": "op_schema", "value": "mm(Tensor)"}]},
  {"id": 7, "name": "aten::copy_", "ctrl_deps": 3,
   "inputs": {"values": [[11, 111, 0, 12, 4, "cpu"]], "shapes": [[3, 4]],
              "types": ["Tensor(float)"]},
   "outputs": {"values": [[12, 112, 0, 8, 4, "cpu"]], "shapes": [[2, 4]],
               "types": ["Tensor(float)"]},
   "attrs": [{"name": "op_schema", "value": "copy_(Tensor) -> Tensor"}]},
  {"id": 4, "name": "aten::view", "ctrl_deps": 1,
   "inputs": {"values": [[12, 112, 0, 8, 4, "cpu"], [8]], "shapes": [[2, 4], []],
              "types": ["Tensor(float)", "GenericList[Int]"]},
   "outputs": {"values": [[13, 112, 0, 8, 4, "cpu"]], "shapes": [[8]],
               "types": ["Tensor(float)"]}},
  {"id": 6, "name": "aten::cat", "ctrl_deps": 1, "exclusive_dur": 500,
   "inputs": {"values": [[[13, 112, 0, 8, 4, "cpu"], [12, 112, 0, 8, 4, "cpu"]], 0],
              "shapes": [[[8], [2, 4]], []],
              "types": ["GenericList[Tensor(float),Tensor(float)]", "Int"]},
   "outputs": {"values": [[14, 114, 0, 16, 4, "cpu"]], "shapes": [[16]],
               "types": ["Tensor(float)"]}},
  {"id": 5, "name": "aten::add_", "ctrl_deps": 1,
   "inputs": {"values": [[13, 112, 0, 8, 4, "cpu"], 1], "shapes": [[8], []],
              "types": ["Tensor(float)", "Int"]},
   "outputs": {"values": [[13, 112, 0, 8, 4, "cpu"]], "shapes": [[8]],
               "types": ["Tensor(float)"]}}]})J";

const char* const kOldTrace = R"J({"schema": "1.0.1", "nodes": [
  {"name": "__ROOT_PROCESS__", "id": 1, "parent": 0, "inputs": [], "input_shapes": [],
   "input_types": [], "outputs": [], "output_shapes": [], "output_types": []},
  {"name": "aten::relu", "id": 2, "rf_id": 1, "parent": 1,
   "inputs": [[3, 4, 0, 6, 4, "cpu"]], "input_shapes": [[2, 3]], "input_types": ["Tensor(float)"],
   "outputs": [[5, 6, 0, 6, 4, "cpu"]], "output_shapes": [[2, 3]],
   "output_types": ["Tensor(float)"]}]})J";

TEST(StepGraphs, TakesFastestTimeOfEachInstance) {
  const auto model = read_model(kStep);
  ASSERT_TRUE(model.ok()) << model.message();
  EXPECT_EQ(model.value().format, "optile-step");
  const Graph& graph = model.value().graph;
  ASSERT_EQ(graph.size(), 3);
  EXPECT_DOUBLE_EQ(graph.node(0).accelerator_ms, 100);
  EXPECT_DOUBLE_EQ(graph.node(0).cpu_ms, 100);
  EXPECT_DOUBLE_EQ(graph.node(0).output_bytes, 32);
  EXPECT_DOUBLE_EQ(graph.node(1).output_bytes, 0);
  EXPECT_DOUBLE_EQ(graph.node(1).accelerator_ms, 30);
  EXPECT_EQ(graph.node(2).name, "Add 2");
  EXPECT_THAT(graph.inputs(2), ElementsAre(0, 1));
}

TEST(StepGraphs, TakesWhatOptileGraphWrites) {
  const auto model = read_model(R"J({"format": "optile step graph", "version": 3, "instances": [
    {"op": "MatMul", "shape": "(2,4)", "output_bytes": 99, "times": {"spread": [0.02]}},
    {"op": "MatMulGrad", "backward": true, "estimated": true, "times": {"spread": [0.03]}}],
    "nodes": [{"instance": 0, "name": "layer", "colour": 4},
              {"instance": 1, "name": "layer", "colour": 4, "inputs": [0]}, {"instance": 0}]})J");
  ASSERT_TRUE(model.ok()) << model.message();
  const Graph& graph = model.value().graph;
  EXPECT_EQ(graph.node(0).name, "layer MatMul 0");
  EXPECT_DOUBLE_EQ(graph.node(0).output_bytes, 99);
  EXPECT_FALSE(graph.node(0).backward);
  EXPECT_TRUE(graph.node(1).backward);
  EXPECT_EQ(graph.node(0).colour, graph.node(1).colour);
  EXPECT_EQ(graph.node(2).colour, -1);
}

TEST(StepGraphs, ReportsPositionOfErrors) {
  const std::string good = kStep;
  EXPECT_THAT(refusal(with(good, "\"instance\": 1,", "\"instance\": 2,")),
              HasSubstr("nodes[1].instance"));
  EXPECT_THAT(refusal(with(good, "[0, 1]", "[0, 7]")), HasSubstr("nodes[2].inputs"));
  EXPECT_THAT(refusal(with(good, "{\"instance\": 0}", "{\"instance\": 0, \"inputs\": [2]}")),
              HasSubstr("cycle"));
  EXPECT_THAT(refusal(with(good, "[0.03]", "[null]")), HasSubstr("instances[1].times"));
  EXPECT_THAT(refusal(with(good, "[0.03]", "[-0.03]")), HasSubstr("instances[1].times"));
  EXPECT_THAT(refusal(with(good, "\"version\": 1", "\"version\": 4")), HasSubstr("version"));
  EXPECT_THAT(refusal(with(good, "step graph", "steppe graph")), HasSubstr("format"));
  EXPECT_THAT(refusal(with(good, "(2,4)", "(9999999999,9999999999)")), HasSubstr("nodes[0]"));
}

TEST(FxGraphs, OpsOfVersion2AreNotForUs) {
  EXPECT_TRUE(read_model(with(kFx, "\"version\": 1", "\"version\": 2")).ok());
}

TEST(FxGraphs, TakesTimesFromMeasurementsOrFlops) {
  const auto model = read_model(kFx);
  ASSERT_TRUE(model.ok()) << model.message();
  EXPECT_EQ(model.value().format, "fx");
  const Graph& graph = model.value().graph;
  ASSERT_EQ(graph.size(), 3);
  EXPECT_DOUBLE_EQ(graph.node(0).accelerator_ms, 0);
  EXPECT_DOUBLE_EQ(graph.node(1).accelerator_ms, 0.25);
  EXPECT_DOUBLE_EQ(graph.node(1).cpu_ms, 0.25);  // measured there
  EXPECT_DOUBLE_EQ(graph.node(1).memory_bytes, 1000);
  EXPECT_EQ(graph.node(1).colour, 2);
  EXPECT_EQ(graph.node(1).kind, "Linear");
  EXPECT_EQ(graph.node(2).kind, "call_function");
  EXPECT_DOUBLE_EQ(graph.node(2).accelerator_ms, 1);  // 5.6e9 operations
  EXPECT_DOUBLE_EQ(graph.node(2).cpu_ms, 10);
  EXPECT_THAT(graph.readers(0), ElementsAre(1));
}

TEST(FxGraphs, ReportsPositionOfErrors) {
  const std::string good = kFx;
  EXPECT_THAT(refusal(with(good, "[\"fc\"]", "[\"fc\", \"gc\"]")), HasSubstr("nodes[2].inputs[1]"));
  EXPECT_THAT(refusal(with(good, "[\"fc\"]", "[0]")), HasSubstr("nodes[2].inputs[0]"));
  EXPECT_THAT(refusal(with(good, "\"relu\"", "\"fc\"")), HasSubstr("nodes[2].name"));
  EXPECT_THAT(refusal(with(good, "call_module", "call")), HasSubstr("nodes[1].op"));
  EXPECT_THAT(refusal(with(good, "0.25", "-0.25")), HasSubstr("nodes[1]"));
  EXPECT_THAT(refusal(with(good, "5600000000", "-1")), HasSubstr("nodes[2].flops"));
  EXPECT_THAT(refusal(with(good, "900", "1e300")), HasSubstr("nodes[1]"));
  EXPECT_THAT(refusal(with(good, "900", "-90")), HasSubstr("nodes[1].parameter_bytes"));
  EXPECT_THAT(refusal(with(good, "480", "-480")), HasSubstr("nodes[0].output_bytes"));
  EXPECT_THAT(refusal(with(good, "\"cpu\"", "\"gpu\"")), HasSubstr("measured_on"));
  EXPECT_THAT(refusal(with(good, "\"inputs\": []", "\"inputs\": [\"relu\"]")), HasSubstr("cycle"));
  EXPECT_THAT(refusal(with(good, "\"version\": 1", "\"version\": 3")), HasSubstr("version"));
  EXPECT_THAT(refusal(good.substr(0, good.size() - 9)), HasSubstr("truncated"));
}

TEST(ExecutionTraces, KeepsOutermostOps) {
  const auto model = read_model(kTrace);
  ASSERT_TRUE(model.ok()) << model.message();
  EXPECT_EQ(model.value().format, "execution-trace");
  const Graph& graph = model.value().graph;
  ASSERT_EQ(graph.size(), 4);  // in the order of their ids: mm, view, add_, cat
  EXPECT_EQ(graph.node(0).name, "aten::mm 3");
  EXPECT_DOUBLE_EQ(graph.node(0).memory_bytes, 4 * (8 + 6 + 12));  // both operands were there
  EXPECT_EQ(graph.node(2).kind, "aten::add_");
  EXPECT_DOUBLE_EQ(graph.node(1).memory_bytes, 0);  // another look at it
  EXPECT_DOUBLE_EQ(graph.node(1).accelerator_ms, 0);
  EXPECT_DOUBLE_EQ(graph.node(3).accelerator_ms, 0.5);
  EXPECT_THAT(graph.inputs(1), ElementsAre(0));
  EXPECT_THAT(graph.inputs(2), ElementsAre(0, 1));
  // It reads the same memory by another name, and waits for who changed it.
  EXPECT_THAT(graph.inputs(3), ElementsAre(0, 2));
}

// An op without times of its own; `rest` comes behind its name and stands for what a join adds.
std::string op(int id, int caller, const std::string& name, const std::string& schema,
               const std::string& inputs, const std::string& outputs,
               const std::string& rest = "") {
  const auto side = [](const std::string& storages) {
    std::string values;
    std::string shapes;
    std::string types;
    for (const char storage : storages) {
      const std::string comma = values.empty() ? "" : ", ";
      const std::string number = std::to_string(static_cast<int>(storage));
      values += comma + "[" + number + ", " + number + ", 0, 25, 4, \"cuda:0\"]";
      shapes += comma + "[25]";
      types += comma + "\"Tensor(float)\"";
    }
    return "{\"values\": [" + values + "], \"shapes\": [" + shapes + "], \"types\": [" + types +
           "]}";
  };
  return "{\"id\": " + std::to_string(id) + ", \"ctrl_deps\": " + std::to_string(caller) +
         ", \"name\": \"" + name + "\", " + rest + "\"inputs\": " + side(inputs) +
         ", \"outputs\": " + side(outputs) +
         ", \"attrs\": [{\"name\": \"op_schema\", \"value\": \"" + schema + "\"}]}";
}

Graph traced(const std::vector<std::string>& ops) {
  std::string text;
  for (const std::string& one : ops) text += (text.empty() ? "" : ", ") + one;
  auto model = read_model("{\"schema\": \"1.1.1-chakra.0.0.4\", \"nodes\": [" + text + "]}");
  EXPECT_TRUE(model.ok()) << model.message();
  if (!model.ok()) std::abort();
  return std::move(model.value().graph);
}

// linear calls addmm, which starts a kernel; times are microseconds.
TEST(ExecutionTraces, TakesOpTimeFromKernelsOrCallees) {
  const auto linear_ms = [](const std::string& linear, const std::string& addmm,
                            const std::string& kernel) {
    std::vector<std::string> ops = {op(3, 1, "aten::linear", "linear(Tensor)", "ab", "c", linear),
                                    op(4, 3, "aten::addmm", "addmm(Tensor)", "ab", "c", addmm)};
    if (!kernel.empty()) ops.push_back(op(5, 4, "sgemm", "", "ab", "c", kernel));
    ops.push_back(op(6, 1, "aten::relu", "relu(Tensor)", "c", "d", R"("exclusive_dur": 9000, )"));
    const Graph graph = traced(ops);
    EXPECT_EQ(graph.size(), 2);
    EXPECT_DOUBLE_EQ(graph.node(1).accelerator_ms, 9);
    return graph.node(0).accelerator_ms;
  };
  const std::string linear = R"("inclusive_dur": 40, "exclusive_dur": 5, )";
  const std::string addmm = R"("inclusive_dur": 35, "exclusive_dur": 35, )";
  const std::string kernel = R"("inclusive_dur": 800, "exclusive_dur": 800, )";
  EXPECT_DOUBLE_EQ(linear_ms(linear, addmm, R"("stream": 7, )" + kernel), 0.8);
  EXPECT_DOUBLE_EQ(linear_ms(linear, addmm, R"("cat": "kernel", "dur": 700, )"), 0.7);
  EXPECT_DOUBLE_EQ(linear_ms(linear, addmm, R"("stream": null, )"), 0.04);
  EXPECT_DOUBLE_EQ(linear_ms(linear, addmm, ""), 0.04);
  EXPECT_DOUBLE_EQ(linear_ms(R"("dur": 41, "exclusive_dur": 5, )", addmm, ""), 0.041);
  EXPECT_DOUBLE_EQ(linear_ms(R"("exclusive_dur": 5, )", addmm, ""), 0.04);
  EXPECT_DOUBLE_EQ(linear_ms("", R"("exclusive_dur": 30, )", ""), 0.03);
  EXPECT_GT(linear_ms("", "", ""), 0);  // by its shapes
}

// Dropout returns its input when nothing is learned; the result of an out= overload was there.
TEST(ExecutionTraces, DistinguishesViewsFromInPlaceOps) {
  const Graph graph = traced({
      op(3, 1, "aten::relu", "relu(Tensor self) -> Tensor", "a", "b"),
      op(4, 1, "aten::dropout", "dropout(Tensor input, float p, bool train) -> Tensor", "b", "b"),
      op(5, 1, "aten::mul", "mul.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)", "bc", "c"),
      op(6, 1, "aten::add_", "add_(Tensor self) -> Tensor", "bd", "b"),
      op(7, 1, "aten::mul_out", "mul_out(Tensor self)", "be", "e"),
  });
  ASSERT_EQ(graph.size(), 5);
  EXPECT_DOUBLE_EQ(graph.node(0).memory_bytes, 200);  // a, which was there, and b
  EXPECT_DOUBLE_EQ(graph.node(1).memory_bytes, 0);
  EXPECT_DOUBLE_EQ(graph.node(1).accelerator_ms, 0);
  EXPECT_DOUBLE_EQ(graph.node(2).memory_bytes, 100);  // c was there, and is kept once
  EXPECT_GT(graph.node(2).accelerator_ms, 0);
  EXPECT_DOUBLE_EQ(graph.node(3).memory_bytes, 100);  // d; b is kept by who made it
  EXPECT_GT(graph.node(3).accelerator_ms, 0);
  EXPECT_DOUBLE_EQ(graph.node(4).memory_bytes, 100);
  EXPECT_THAT(graph.inputs(4), ElementsAre(3));
}

TEST(ExecutionTraces, ReadsOldSchema) {
  const auto model = read_model(kOldTrace);
  ASSERT_TRUE(model.ok()) << model.message();
  ASSERT_EQ(model.value().graph.size(), 1);
  EXPECT_DOUBLE_EQ(model.value().graph.node(0).output_bytes, 24);
}

TEST(ExecutionTraces, ReportsPositionOfErrors) {
  const std::string good = kTrace;
  EXPECT_THAT(refusal(with(good, "\"id\": 5", "\"id\": 6")), HasSubstr("nodes[6].id"));
  EXPECT_THAT(refusal(with(good, "\"id\": 5", "\"id\": -5")), HasSubstr("nodes[6].id"));
  EXPECT_THAT(refusal(with(good, "\"shapes\": [[2, 3], [3, 4]]", "\"shapes\": [[2, 3]]")),
              HasSubstr("nodes[2].inputs.values: there are 2 values, 1 shapes"));
  EXPECT_THAT(refusal(with(good, "[11, 111, 0, 12, 4, \"cpu\"]", "[11, 111]")),
              HasSubstr("nodes[2].inputs.values[1]: a tensor"));
  EXPECT_THAT(refusal(with(good, "[11, 111, 0, 12", "[11, 111, 0, -12")),
              HasSubstr("nodes[2].inputs.values[1]"));
  EXPECT_THAT(refusal(with(good, "[11, 111, 0, 12", "[11, 111, 0, 8000000000000000000")),
              HasSubstr("nodes[2]"));
  EXPECT_THAT(refusal(with(good, "\"exclusive_dur\": 500", "\"exclusive_dur\": -1")),
              HasSubstr("nodes[5].exclusive_dur"));
  EXPECT_THAT(refusal(with(good, "\"name\": \"aten::mm\", ", "")),
              HasSubstr("nodes[2]: name is missing"));
  EXPECT_THAT(refusal(R"({"schema": "1", "nodes": []})"), HasSubstr("none of them"));
  EXPECT_THAT(refusal(R"({"schema": "1", "nodes": {}})"), HasSubstr("nodes: a list"));
}

}  // namespace
}  // namespace optile::placement
