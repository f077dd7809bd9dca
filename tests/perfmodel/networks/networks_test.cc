// The generators against published figures of the networks, and the graphs' own rules.
#include "perfmodel/networks/networks.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "perfmodel/networks/dcgan.h"
#include "perfmodel/networks/fitted_laws.h"
#include "perfmodel/networks/inception_v3.h"
#include "perfmodel/networks/lstm.h"
#include "perfmodel/networks/resnet50.h"
#include "tests/perfmodel/machine/machines.h"

namespace optile::perfmodel {
namespace {

using networks::FrameworkOp;
using networks::Node;
using networks::NodeId;
using networks::Phase;
using networks::Tape;

// Multiply-adds of convolutions and matrix products in the forward pass, one image.
double forward_gmacs(const Tape& tape, double batch) {
  double flops = 0;
  for (const Node& node : tape.nodes()) {
    const bool product =
        node.op == "Conv2D" || node.op == "MatMul" || node.op == "Conv2DBackpropInput";
    flops += product && node.phase == Phase::kForward ? node.flops : 0;
  }
  return flops / 2 / batch / 1e9;
}

double parameters(const Tape& tape) {
  double count = 0;
  for (const NodeId id : tape.variables()) {
    count += static_cast<double>(networks::elements(tape.shape(id)));
  }
  return count;
}

std::map<std::string, int> counts(const std::vector<FrameworkOp>& ops) {
  std::map<std::string, int> found;
  for (const FrameworkOp& op : ops) ++found[op.op];
  return found;
}

TEST(Networks, Resnet50MatchesPublishedOperationsAndParameters) {
  // He et al. 2015, table 1: 3.8e9 multiply-adds with the stride in the first 1x1; 4.1e9 with the
  // stride in the 3x3, as everybody builds it since. 25.6 million parameters.
  networks::Resnet50 published;
  published.batch = 1;
  published.image = 224;
  published.classes = 1000;
  published.small_stem = false;
  const Tape tape = networks::resnet50(published);
  EXPECT_NEAR(forward_gmacs(tape, 1), 4.1, 0.05);
  EXPECT_NEAR(parameters(tape), 25.557e6, 0.001e6);
}

TEST(Networks, Resnet50ScalesWithImageSize) {
  // The same network at 32 pixels behind the stem for small images: 8 x 8 positions more in every
  // layer than 224 / 32 leaves, which is 1.3e9 multiply-adds.
  EXPECT_NEAR(forward_gmacs(networks::resnet50(), 64), 1.30, 0.01);
  networks::Resnet50 twice;
  twice.image = 64;
  EXPECT_NEAR(forward_gmacs(networks::resnet50(twice), 64), 5.19, 0.02);
}

TEST(Networks, InceptionV3MatchesPublishedOperationsAndParameters) {
  // Szegedy et al. 2015: 5e9 multiply-adds rounded; 5.7e9 counted since. 23.8 million parameters
  // and 3.4 million in the auxiliary head.
  const Tape tape = networks::inception_v3();
  EXPECT_NEAR(forward_gmacs(tape, 16), 5.72, 0.05);
  EXPECT_NEAR(parameters(tape), 27.16e6, 0.05e6);
}

TEST(Networks, LstmMatchesSmallPennTreebankModel) {
  // 10,000 * 200 twice, two layers of (400 * 800 + 800), and the biases of the words.
  EXPECT_DOUBLE_EQ(parameters(networks::lstm()), 2 * 10000 * 200 + 2 * (400 * 800 + 800) + 10000);
  const auto ops = network_ops("lstm");
  ASSERT_TRUE(ops.ok());
  const auto found = counts(ops.value());
  EXPECT_EQ(found.at("MatMul"), 3 * (2 * 20 + 1));  // forward, and two backward for each
  EXPECT_EQ(found.at("BiasAddGrad"), 2 * 20 + 1);
  EXPECT_EQ(found.at("Sigmoid"), 3 * 2 * 20);
  EXPECT_EQ(found.at("SparseSoftmaxCross"), 1);
}

TEST(Networks, DcganTrainsGeneratorTwice) {
  const auto ops = network_ops("dcgan");
  ASSERT_TRUE(ops.ok());
  const auto found = counts(ops.value());
  EXPECT_EQ(found.at("NoOp"), 3);  // one end for each run of the session
  // Two transposed convolutions in each of three generators; backward, the two of the generator
  // twice and the two of the judging network in every run but into the first image.
  EXPECT_EQ(found.at("Conv2DBackpropFilter"), 2 * 2 + 2 * 2);
  EXPECT_GT(found.at("ApplyAdam"), 3 * 8);
}

TEST(Networks, Resnet50AndInceptionV3HaveAllConvolutions) {
  const auto resnet = network_ops("resnet50");
  const auto inception = network_ops("inception_v3");
  ASSERT_TRUE(resnet.ok() && inception.ok());
  auto found = counts(resnet.value());
  EXPECT_EQ(found.at("Conv2D"), 53);
  EXPECT_EQ(found.at("Conv2DBackpropFilter"), 53);
  EXPECT_EQ(found.at("Conv2DBackpropInput"), 52);  // none into the images
  found = counts(inception.value());
  EXPECT_EQ(found.at("Conv2D"), 96);  // 94 and two of the auxiliary head
  EXPECT_EQ(found.at("Conv2DBackpropInput"), 95);
  EXPECT_EQ(found.at("AvgPool"), 11);
  EXPECT_EQ(found.at("MaxPooling"), 4);
}

class EveryNetwork : public testing::TestWithParam<std::string> {
 protected:
  std::vector<FrameworkOp> ops() const {
    auto found = network_ops(GetParam());
    EXPECT_TRUE(found.ok()) << found.message();
    return found.value();
  }
};

TEST_P(EveryNetwork, InputsPrecedeTheirReaders) {
  const auto all = ops();
  for (std::size_t i = 0; i < all.size(); ++i) {
    std::set<int> seen;
    for (const int input : all[i].inputs) {
      ASSERT_GE(input, 0);
      ASSERT_LT(input, static_cast<int>(i));
      EXPECT_TRUE(seen.insert(input).second) << i;
    }
  }
}

TEST_P(EveryNetwork, BackwardMirrorsForward) {
  // Convolutions and products cost backward what they cost forward, once for each gradient; what a
  // backward op mirrors is a forward op; and every update waits for some backward op.
  const auto all = ops();
  std::map<NodeId, double> forward;
  for (const FrameworkOp& op : all) {
    if (op.recorded != networks::kNothing) forward[op.recorded] = op.flops;
  }
  int mirrored = 0;
  for (const FrameworkOp& op : all) {
    const bool update = op.phase == Phase::kUpdate && op.op.rfind("Apply", 0) == 0;
    EXPECT_TRUE(!update || !op.inputs.empty()) << op.shape;
    if (op.mirrors == networks::kNothing) continue;
    EXPECT_EQ(op.phase, Phase::kBackward);
    ASSERT_TRUE(forward.count(op.mirrors)) << op.op << " " << op.shape;
    if (op.op == "MatMul" || op.op.rfind("Conv2D", 0) == 0) {
      EXPECT_DOUBLE_EQ(op.flops, forward.at(op.mirrors)) << op.op << " " << op.shape;
      ++mirrored;
    }
  }
  EXPECT_GT(mirrored, 10);
}

TEST_P(EveryNetwork, HasNoUnusedOps) {
  const auto all = ops();
  std::vector<bool> read(all.size(), false);
  for (const FrameworkOp& op : all) {
    for (const int input : op.inputs) read[static_cast<std::size_t>(input)] = true;
  }
  for (std::size_t i = 0; i < all.size(); ++i) {
    const std::string& name = all[i].op;
    const bool ends = name.rfind("Apply", 0) == 0 || name == "AssignSub" || name == "ScatterSub" ||
                      name == "NoOp" || all[i].shape.find("->()") != std::string::npos;
    EXPECT_TRUE(read[i] || ends) << name << " " << all[i].shape;
  }
}

TEST_P(EveryNetwork, GraphFitsMachineAndWorkingOpsHaveFits) {
  const Machine machine = knl();
  const auto graph = network_graph(GetParam(), machine);
  ASSERT_TRUE(graph.ok()) << graph.message();
  const base::Status status = check_step_graph(graph.value(), case_space(machine));
  EXPECT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(topological_order(graph.value()).size(), graph.value().nodes.size());
  for (const FrameworkOp& op : ops()) {
    if (op.bytes > 0) {
      EXPECT_NE(networks::fitted_op(GetParam(), op.op), nullptr) << op.op;
    }
  }
}

TEST_P(EveryNetwork, FittedOpsMatchTableSix) {
  const auto graph = network_graph(GetParam(), knl());
  ASSERT_TRUE(graph.ok()) << graph.message();
  std::map<std::string, double> seconds;
  for (const OpNode& node : graph.value().nodes) {
    const OpInstance& instance = graph.value().instances[static_cast<std::size_t>(node.instance)];
    if (instance.tunable) seconds[instance.op] += instance.times.at({68, Binding::kCompact});
  }
  const std::map<std::string, std::map<std::string, double>> table{
      {"resnet50", {{"Conv2DBackpropFilter", 158}, {"Tile", 107}, {"ToTf", 79}}},
      {"dcgan", {{"Conv2DBackpropInput", 164}, {"ApplyAdam", 84}, {"FusedBatchNorm", 15}}},
      {"inception_v3", {{"AvgPool", 759}, {"MaxPooling", 455}, {"InputConversion", 416}}},
      {"lstm", {{"SparseSoftmaxCross", 11.71}, {"BiasAddGrad", 2.03}, {"MatMul", 0.95}}}};
  for (const auto& [op, ms] : table.at(GetParam())) {
    EXPECT_NEAR(seconds.at(op) * 1e3, ms, ms * 0.01) << op;
  }
}

INSTANTIATE_TEST_SUITE_P(Paper, EveryNetwork,
                         testing::Values("resnet50", "dcgan", "inception_v3", "lstm"));

TEST(Networks, UnknownNameErrorListsNetworks) {
  const auto graph = network_graph("resnet51", knl());
  ASSERT_FALSE(graph.ok());
  EXPECT_EQ(graph.error().kind, base::ErrorKind::kNotFound);
  EXPECT_NE(graph.message().find("resnet51"), std::string::npos);
  EXPECT_NE(graph.message().find("inception_v3"), std::string::npos);
}

TEST(Networks, InsertsConversionsOnlyBetweenLayouts) {
  Tape tape;
  const NodeId images = tape.input({2, 8, 8, 3});
  const NodeId conv = tape.op("Conv2D", {images}, {2, 8, 8, 4}, 1);
  const NodeId relu = tape.op("Relu", {conv}, {2, 8, 8, 4}, 1);      // stays blocked
  const NodeId tile = tape.op("Mean", {relu}, {4}, 1);               // Eigen: a ToTf before it
  const NodeId sum = tape.op("Add", {relu, tile}, {2, 8, 8, 4}, 1);  // mixed: a real conversion
  tape.fetch(tape.op("Add", {sum, sum}, {2, 8, 8, 4}, 1));           // both plain: passes through
  std::vector<std::string> names;
  std::vector<double> bytes;
  for (const FrameworkOp& op : networks::framework_ops(tape)) {
    names.push_back(op.op);
    bytes.push_back(op.bytes);
  }
  EXPECT_EQ(names, (std::vector<std::string>{"Conv2D", "Relu", "ToTf", "Mean", "InputConversion",
                                             "Add", "InputConversion", "Add"}));
  const double image_bytes = 2 * 8 * 8 * 4 * 4;
  EXPECT_DOUBLE_EQ(bytes[2], 2 * image_bytes);
  EXPECT_DOUBLE_EQ(bytes[4], 2 * image_bytes);
  EXPECT_DOUBLE_EQ(bytes[6], 0);
}

}  // namespace
}  // namespace optile::perfmodel
