#include "placement/layers/layer_graph.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

namespace optile::placement {
namespace {

LayerGraph network(const std::string& name) {
  auto graph = published_network(name, 32);
  EXPECT_TRUE(graph.ok());
  return std::move(graph).value();
}

std::map<LayerKind, int> kinds_of(const LayerGraph& graph) {
  std::map<LayerKind, int> kinds;
  for (const Layer& layer : graph.layers) ++kinds[layer.kind];
  return kinds;
}

std::int64_t parameters_of(const LayerGraph& graph) {
  std::int64_t sum = 0;
  for (const Layer& layer : graph.layers) {
    sum += layer.output[kChannel] * parameters_per_channel(layer);
  }
  return sum;
}

const Layer& named(const LayerGraph& graph, const std::string& name) {
  for (const Layer& layer : graph.layers) {
    if (layer.name == name) return layer;
  }
  ADD_FAILURE() << "no layer " << name;
  return graph.layers.front();
}

// The numbers of parameters are those that the papers and frameworks give for these networks.
TEST(PublishedNetworks, HavePublishedLayerAndParameterCounts) {
  const LayerGraph lenet = network("lenet5");
  EXPECT_EQ(lenet.layers.size(), 6U + 1U);
  EXPECT_EQ(parameters_of(lenet), 431080);
  const LayerGraph alexnet = network("alexnet");
  EXPECT_EQ(alexnet.layers.size(), 11U + 1U);
  EXPECT_EQ(parameters_of(alexnet), 62378344);
  const LayerGraph vgg = network("vgg16");
  EXPECT_EQ(vgg.layers.size(), 21U + 1U);
  EXPECT_EQ(parameters_of(vgg), 138357544);
}

TEST(PublishedNetworks, InceptionHasPublishedModules) {
  const LayerGraph graph = network("inception_v3");
  std::map<LayerKind, int> kinds = kinds_of(graph);
  EXPECT_EQ(kinds[LayerKind::kConvolution], 94);
  EXPECT_EQ(kinds[LayerKind::kPooling], 14);
  EXPECT_EQ(kinds[LayerKind::kDense], 1);
  EXPECT_EQ(kinds[LayerKind::kConcatenation], 11 + 4);
  EXPECT_EQ(named(graph, "module1/join9").output, (Extents{32, 256, 35, 35, 1}));
  EXPECT_EQ(named(graph, "module5/join12").output, (Extents{32, 768, 17, 17, 1}));
  EXPECT_EQ(named(graph, "dense").input, (Extents{32, 2048, 1, 1, 1}));
  // 23.8 million without the branch that only training has; batch normalisation is not counted,
  // biases are.
  EXPECT_NEAR(static_cast<double>(parameters_of(graph)), 23.8e6, 0.1e6);
}

TEST(PublishedNetworks, LayersFollowTheirInputs) {
  for (const std::string& name : published_networks()) {
    for (const LayerEdge& edge : network(name).edges) EXPECT_LT(edge.first, edge.second) << name;
  }
  EXPECT_THAT(published_network("resnet", 32).message(),
              ::testing::HasSubstr("there is no network resnet; there are lenet5"));
  EXPECT_FALSE(published_network("vgg16", 0).ok());
}

TEST(Parts, CoverExtentAndDifferByAtMostOne) {
  for (std::int64_t extent = 1; extent <= 30; ++extent) {
    for (std::int64_t parts = 1; parts <= extent; ++parts) {
      std::int64_t end = 0;
      for (std::int64_t part = 0; part < parts; ++part) {
        const Range range = part_of(extent, part, parts);
        EXPECT_EQ(range.begin, end);
        EXPECT_GE(range.size(), extent / parts);
        EXPECT_LE(range.size(), (extent + parts - 1) / parts);
        end = range.end;
      }
      EXPECT_EQ(end, extent);
    }
  }
}

}  // namespace
}  // namespace optile::placement
