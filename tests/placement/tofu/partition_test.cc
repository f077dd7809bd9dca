#include "placement/tofu/partition.h"

#include <gtest/gtest.h>

#include <limits>
#include <map>
#include <string>

#include "placement/tofu/graph_builder.h"
#include "placement/tofu/networks.h"
#include "tests/placement/tofu/traced_bytes.h"

namespace optile::placement::tofu {
namespace {

// Two dense layers with tanh between them, their backward pass and updates.
OperatorGraph perceptron(std::int64_t batch, std::int64_t in, std::int64_t middle) {
  GraphBuilder b;
  const char* dense = "dense(x, w)[n, k] = Sum(c: x[n, c] * w[c, k])";
  const char* weights = "dense_weights(x, g)[c, k] = Sum(n: x[n, c] * g[n, k])";
  const int x = b.input("x", {batch, in});
  const int w1 = b.parameter("w1", {in, middle});
  const int w2 = b.parameter("w2", {middle, in});
  const int h = b.apply(dense, "h", {batch, middle}, {x, w1});
  const int a = b.apply("tanh(h)[n, k] = tanh(h[n, k])", "a", {batch, middle}, {h});
  const int y = b.apply(dense, "y", {batch, in}, {a, w2});
  const int dy = b.gradient("loss(y, t)[n, k] = y[n, k] - t[n, k]", y, {y, x});
  const int da = b.gradient("dense_data(g, w)[n, c] = Sum(k: g[n, k] * w[c, k])", a, {dy, w2});
  b.update(w2, b.gradient(weights, w2, {a, dy}));
  const int dh = b.gradient("back(g, a)[n, k] = g[n, k] * (1 - a[n, k] * a[n, k])", h, {da, a});
  b.update(w1, b.gradient(weights, w1, {x, dh}));
  return b.finish();
}

std::vector<History> histories_of(const GraphOperator& op, const std::vector<History>& tensors) {
  std::vector<History> all;
  for (const int input : op.inputs) all.push_back(tensors[static_cast<std::size_t>(input)]);
  all.push_back(tensors[static_cast<std::size_t>(op.output)]);
  return all;
}

void expect_traced_bytes(const OperatorGraph& graph, int workers) {
  const auto extents = checked_extents(graph);
  ASSERT_TRUE(extents.ok()) << extents.message();
  const auto found = partition(graph, workers);
  ASSERT_TRUE(found.ok()) << found.message();
  EXPECT_TRUE(found.value().exact);
  std::map<std::pair<std::vector<std::int64_t>, std::vector<History>>, std::int64_t> known;
  std::int64_t moved = 0;
  for (std::size_t i = 0; i < graph.operators.size(); ++i) {
    const GraphOperator& op = graph.operators[i];
    std::vector<History> key = histories_of(op, found.value().tensors);
    key.push_back(found.value().operators[i]);
    std::vector<std::int64_t> shape = extents.value()[i];
    shape.push_back(op.description);
    const auto [at, added] = known.try_emplace({shape, key});
    if (added) {
      at->second = traced_elements(graph, op, extents.value()[i], found.value().operators[i],
                                   histories_of(op, found.value().tensors));
    }
    moved += at->second;
  }
  EXPECT_EQ(found.value().bytes_moved, static_cast<double>(moved * graph.element_bytes));
}

TEST(TofuPartitionTest, MovedBytesMatchTracing) {
  for (const int workers : {2, 4, 8}) expect_traced_bytes(perceptron(8, 16, 8), workers);
  expect_traced_bytes(perceptron(2, 4, 6), 8);  // runs out of even extents
  expect_traced_bytes(unrolled_lstm({2, 3, 4, 4}), 4);
  expect_traced_bytes(wide_resnet({{1, 1, 0, 0}, 1, 2, 8, 2, 4}), 4);
}

// Every way to halve every class of tensors, and each operator by every index.
double least_by_trying_all(const OperatorGraph& graph) {
  const auto extents = checked_extents(graph).value();
  const CoarseGraph coarse = coarsened(graph);
  std::vector<std::vector<int>> ways;
  for (const int example : coarse.example) {
    const Shape& shape = graph.tensors[static_cast<std::size_t>(example)].shape;
    std::vector<int> even;
    for (std::size_t d = 0; d < shape.size(); ++d) {
      if (shape[d] % 2 == 0) even.push_back(static_cast<int>(d));
    }
    ways.push_back(even.empty() ? std::vector<int>{-1} : even);
  }
  std::map<std::pair<std::size_t, std::vector<History>>, std::int64_t> known;
  const auto cheapest = [&](std::size_t i, const std::vector<History>& histories) {
    const auto [at, added] = known.try_emplace({i, histories});
    if (!added) return at->second;
    const GraphOperator& op = graph.operators[i];
    at->second = std::numeric_limits<std::int64_t>::max();
    for (const int index :
         splits_of(graph.descriptions[static_cast<std::size_t>(op.description)])) {
      if (extents[i][static_cast<std::size_t>(index)] % 2 != 0) continue;
      at->second = std::min(at->second, traced_elements(graph, op, extents[i], {index}, histories));
    }
    return at->second;
  };
  std::int64_t least = std::numeric_limits<std::int64_t>::max();
  std::vector<std::size_t> chosen(ways.size(), 0);
  for (;;) {
    std::vector<History> tensors;
    for (const int one : coarse.class_of) {
      const auto c = static_cast<std::size_t>(one);
      tensors.push_back({ways[c][chosen[c]]});
    }
    std::int64_t moved = 0;
    for (std::size_t i = 0; i < graph.operators.size(); ++i) {
      moved += cheapest(i, histories_of(graph.operators[i], tensors));
    }
    least = std::min(least, moved);
    std::size_t i = 0;
    while (i < chosen.size() && ++chosen[i] == ways[i].size()) chosen[i++] = 0;
    if (i == chosen.size()) return static_cast<double>(least) * graph.element_bytes;
  }
}

TEST(TofuPartitionTest, SingleHalvingMatchesBruteForce) {
  for (const auto& [batch, in, middle] :
       {std::array<std::int64_t, 3>{2, 4, 8}, {8, 4, 2}, {16, 2, 2}}) {
    const OperatorGraph graph = perceptron(batch, in, middle);
    EXPECT_EQ(partition(graph, 2).value().bytes_moved, least_by_trying_all(graph))
        << batch << " " << in << " " << middle;
  }
  const OperatorGraph lstm = unrolled_lstm({1, 2, 2, 2});
  EXPECT_EQ(partition(lstm, 2).value().bytes_moved, least_by_trying_all(lstm));
}

TEST(TofuPartitionTest, SplitsWeightsWhenBatchIsSmall) {
  // Two samples and large weights: replicas would exchange 2 * 2 * 64 * 64 gradients.
  const OperatorGraph graph = perceptron(2, 64, 64);
  const Partition found = partition(graph, 2).value();
  EXPECT_LT(found.bytes_moved, data_parallel_bytes(graph, 2) / 10);
  EXPECT_EQ(data_parallel_bytes(graph, 2), 2.0 * 2 * 64 * 64 * 4);
  EXPECT_EQ(found.parameter_bytes_per_worker, parameter_bytes(graph) / 2);
}

TEST(TofuPartitionTest, CoarseningMatchesPaper) {
  const OperatorGraph graph = perceptron(4, 4, 4);
  const CoarseGraph coarse = coarsened(graph);
  // x, y with what the loss ties to it (x again), h with a and their gradients, and the weights.
  EXPECT_EQ(coarse.example.size(), 4U);
  // Each dense layer with its backward operators.
  EXPECT_EQ(coarse.nodes.size(), 2U);
  const OperatorGraph unrolled = unrolled_lstm({2, 20, 8, 4});
  const OperatorGraph shorter = unrolled_lstm({2, 5, 8, 4});
  EXPECT_GT(unrolled.operators.size(), 3 * shorter.operators.size());
  EXPECT_EQ(coarsened(unrolled).nodes.size(), coarsened(shorter).nodes.size());
  EXPECT_EQ(coarsened(unrolled).example.size(), coarsened(shorter).example.size());
}

TEST(TofuPartitionTest, PaperNetworksReachPublishedOperatorCounts) {
  EXPECT_GE(wide_resnet({}).operators.size(), 1500U);
  EXPECT_GE(unrolled_lstm({}).operators.size(), 3000U);
  EXPECT_TRUE(checked_extents(wide_resnet({})).ok());
  EXPECT_TRUE(checked_extents(unrolled_lstm({})).ok());
}

TEST(TofuPartitionTest, RejectsBadWorkerCountsAndInvalidGraphs) {
  const OperatorGraph graph = perceptron(2, 4, 4);
  for (const int workers : {-2, 0, 3, 6, 128}) EXPECT_FALSE(partition(graph, workers).ok());
  EXPECT_EQ(partition(graph, 1).value().bytes_moved, 0);
  OperatorGraph wrong = graph;
  wrong.operators[0].inputs[0] = 1000;
  EXPECT_FALSE(partition(wrong, 2).ok());
  wrong = graph;
  std::swap(wrong.operators.front(), wrong.operators.back());
  EXPECT_FALSE(partition(wrong, 2).ok());
  wrong = graph;
  wrong.tensors[0].shape = {2, 5};
  EXPECT_FALSE(partition(wrong, 2).ok());
  wrong.tensors[0].shape = {1 << 30, 1 << 30};
  EXPECT_FALSE(partition(wrong, 2).ok());
}

}  // namespace
}  // namespace optile::placement::tofu
