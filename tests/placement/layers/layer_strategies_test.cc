#include "placement/layers/layer_strategies.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "placement/strategy/evaluator.h"
#include "placement/strategy/node_edge_elimination.h"
#include "placement/strategy/solver.h"

namespace optile::placement {
namespace {

LayerStrategies made(const std::string& network, int devices) {
  TrainingSetting setting;
  setting.devices = devices;
  auto graph = published_network(network, setting.samples());
  EXPECT_TRUE(graph.ok());
  auto strategies = strategies_of(std::move(graph).value(), setting);
  EXPECT_TRUE(strategies.ok());
  return std::move(strategies).value();
}

StrategyChoice optimum_of(const LayerStrategies& strategies, std::size_t* remained = nullptr) {
  Budget budget;
  const auto outcome = eliminate_nodes_and_edges(strategies.problem, budget);
  EXPECT_TRUE(outcome.ok());
  if (remained != nullptr) *remained = outcome.value().remained;
  return outcome.value().choice;
}

Total cost_of(const LayerStrategies& strategies, const StrategyChoice& choice) {
  return StrategyState(strategies.problem, choice).cost();
}

// Every way of every layer, added up from the estimate and not from the problem's tables.
double brute_force(const LayerStrategies& strategies) {
  StrategyChoice choice(strategies.ways.size(), 0);
  double best = std::numeric_limits<double>::infinity();
  for (;;) {
    best = std::min(best, estimate(strategies, choice).seconds());
    std::size_t i = 0;
    while (i < choice.size() && ++choice[i] == strategies.ways[i].size()) choice[i++] = 0;
    if (i == choice.size()) return best;
  }
}

TEST(LayerStrategies, EliminationMatchesBruteForce) {
  for (const std::int64_t channels : {2, 6, 40}) {
    TrainingSetting setting;
    setting.devices = 2;
    setting.samples_per_device = 2;
    LayerGraphBuilder net("small", {4, 3, 8, 8, 1}, 2);
    const auto first = net.convolution("first", LayerGraphBuilder::kImage, channels, square(3));
    const auto left = net.convolution("left", first, channels, square(1));
    const auto right = net.pooling("right", first, square(3, 1, 1));
    const auto joined = net.concatenation("joined", {left, right});
    net.softmax("last", net.dense("dense", joined, 10 * channels));
    const auto strategies = strategies_of(net.take(), setting);
    ASSERT_TRUE(strategies.ok()) << strategies.message();
    std::size_t remained = 0;
    const StrategyChoice choice = optimum_of(strategies.value(), &remained);
    EXPECT_EQ(remained, 2U);
    // Nanoseconds are rounded, once for each layer and each tensor.
    EXPECT_NEAR(estimate(strategies.value(), choice).seconds(), brute_force(strategies.value()),
                12e-9);
  }
}

TEST(LayerStrategies, ProblemCostMatchesEstimate) {
  for (const std::string& network : published_networks()) {
    const LayerStrategies strategies = made(network, 4);
    for (const auto parallelism : {UsualParallelism::kNone, UsualParallelism::kData,
                                   UsualParallelism::kModel, UsualParallelism::kOneWeirdTrick}) {
      const StrategyChoice choice = usual(strategies, parallelism);
      EXPECT_NEAR(static_cast<double>(cost_of(strategies, choice)),
                  estimate(strategies, choice).seconds() * 1e9, 300);
    }
  }
}

TEST(LayerStrategies, UsualParallelismSplitsExpectedDimensions) {
  const LayerStrategies strategies = made("lenet5", 16);
  const StrategyChoice data = usual(strategies, UsualParallelism::kData);
  const StrategyChoice model = usual(strategies, UsualParallelism::kModel);
  const StrategyChoice trick = usual(strategies, UsualParallelism::kOneWeirdTrick);
  const auto degrees = [&](const StrategyChoice& choice, std::size_t layer) {
    return text_of(strategies.graph.layers[layer], strategies.ways[layer][choice[layer]]);
  };
  EXPECT_EQ(degrees(data, 0), "n=16");
  EXPECT_EQ(degrees(data, 4), "n=16");
  EXPECT_EQ(degrees(model, 0), "c=16");
  EXPECT_EQ(degrees(model, 5), "c=8");  // 10 channels
  EXPECT_EQ(degrees(trick, 0), "n=16");
  EXPECT_EQ(degrees(trick, 4), "c=16");
  EXPECT_EQ(degrees(trick, 6), "n=16");
  EXPECT_EQ(degrees(usual(strategies, UsualParallelism::kNone), 3), "1");
  // Samples that stay where they are move nothing but gradients of parameters.
  EXPECT_EQ(estimate(strategies, data).transfer, 0);
  EXPECT_EQ(estimate(strategies, model).synchronise, 0);
  EXPECT_EQ(estimate(strategies, usual(strategies, UsualParallelism::kNone)).moved.bytes(), 0);
}

TEST(LayerStrategies, OptimumIsNoWorseThanUsualParallelism) {
  for (const std::string& network : published_networks()) {
    for (const int devices : {1, 4, 8}) {
      if (network == "inception_v3" && devices > 4) continue;  // sanitizers make it slow
      const LayerStrategies strategies = made(network, devices);
      std::size_t remained = 0;
      const StrategyChoice choice = optimum_of(strategies, &remained);
      EXPECT_EQ(remained, 2U) << network;
      for (const auto parallelism : {UsualParallelism::kNone, UsualParallelism::kData,
                                     UsualParallelism::kModel, UsualParallelism::kOneWeirdTrick}) {
        EXPECT_LE(cost_of(strategies, choice), cost_of(strategies, usual(strategies, parallelism)));
      }
    }
  }
}

// What comes out of the model as it is fixed in docs/design/0021; docs/results/placement.md says
// where the paper's measured answer differs.
TEST(LayerStrategies, Vgg16OnFourDevicesSplitsSamplesThenChannels) {
  const LayerStrategies strategies = made("vgg16", 4);
  const StrategyChoice choice = optimum_of(strategies);
  for (std::size_t i = 0; i < choice.size(); ++i) {
    const Layer& layer = strategies.graph.layers[i];
    const std::string degrees = text_of(layer, strategies.ways[i][choice[i]]);
    const std::string expected = layer.kind == LayerKind::kDense     ? "c=2"
                                 : layer.kind == LayerKind::kSoftmax ? "n=2"
                                                                     : "n=4";
    EXPECT_EQ(degrees, expected) << layer.name;
  }
}

// Table 5 of the paper, under our model.
Degrees published(const Layer& layer) {
  if (layer.name == "dense6" || layer.name == "dense7") return {1, 4, 1, 1, 1};
  if (layer.name == "dense8") return {1, 2, 1, 1, 1};
  if (layer.kind == LayerKind::kSoftmax) return {1, 1, 1, 1, 1};
  const bool last_block = layer.name.starts_with("conv5") || layer.name == "pool5";
  return last_block ? Degrees{1, 1, 2, 2, 1} : Degrees{4, 1, 1, 1, 1};
}

TEST(LayerStrategies, PublishedVgg16StrategyIsWithinFivePercentOfOptimum) {
  const LayerStrategies strategies = made("vgg16", 4);
  StrategyChoice choice;
  for (std::size_t i = 0; i < strategies.ways.size(); ++i) {
    const auto& ways = strategies.ways[i];
    const auto at = std::find(ways.begin(), ways.end(), published(strategies.graph.layers[i]));
    ASSERT_NE(at, ways.end());
    choice.push_back(static_cast<std::uint16_t>(at - ways.begin()));
  }
  const double over = estimate(strategies, choice).seconds() /
                      estimate(strategies, optimum_of(strategies)).seconds();
  EXPECT_GT(over, 1.0);
  EXPECT_LT(over, 1.05) << over;
}

// Another solver for the same problem.
TEST(LayerStrategies, SolverAgreesOnOptimum) {
  for (const std::string& network : published_networks()) {
    const LayerStrategies strategies = made(network, 4);
    Budget budget({.evaluations = 50});
    const auto answer = solve_strategy(strategies.problem, {}, budget);
    ASSERT_TRUE(answer.ok()) << answer.message();
    EXPECT_EQ(answer.value().cost,
              static_cast<double>(cost_of(strategies, optimum_of(strategies))));
  }
}

TEST(LayerStrategies, RejectsSettingsOutOfRange) {
  TrainingSetting setting;
  setting.devices = kMostTrainingDevices + 1;
  EXPECT_THAT(strategies_of({}, setting).message(), ::testing::HasSubstr("1 to 64 devices"));
  setting.devices = 4;
  setting.samples_per_device = 0;
  EXPECT_FALSE(strategies_of({}, setting).ok());
  setting.devices = 4;
  setting.samples_per_device = 1 << 26;
  auto graph = published_network("vgg16", setting.samples());
  ASSERT_TRUE(graph.ok());
  EXPECT_THAT(strategies_of(std::move(graph).value(), setting).message(),
              ::testing::HasSubstr("longer than a day"));
}

}  // namespace
}  // namespace optile::placement
