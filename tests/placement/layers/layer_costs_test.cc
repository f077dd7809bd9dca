#include "placement/layers/layer_costs.h"

#include <gtest/gtest.h>

#include <set>
#include <tuple>

namespace optile::placement {
namespace {

TrainingSetting setting_of(int devices, int devices_per_host) {
  TrainingSetting setting;
  setting.devices = devices;
  setting.devices_per_host = devices_per_host;
  return setting;
}

using Element = std::array<std::int64_t, kDimensions>;

template <typename Visit>
void each_element(const Extents& extents, Visit visit) {
  Element at{};
  for (at[0] = 0; at[0] < extents[0]; ++at[0])
    for (at[1] = 0; at[1] < extents[1]; ++at[1])
      for (at[2] = 0; at[2] < extents[2]; ++at[2])
        for (at[3] = 0; at[3] < extents[3]; ++at[3])
          for (at[4] = 0; at[4] < extents[4]; ++at[4]) visit(at);
}

// Whose part an element is, by looking through the parts, with the sample slowest.
std::int64_t device_of(const Element& at, const Extents& extents, const Degrees& degrees) {
  std::int64_t device = 0;
  for (std::size_t d = 0; d < kDimensions; ++d) {
    std::int64_t part = 0;
    while (at[d] >= (part + 1) * extents[d] / degrees[d]) ++part;
    device = device * degrees[d] + part;
  }
  return device;
}

bool window_covers(const Window& window, std::int64_t made, std::int64_t read) {
  for (std::int64_t offset = 0; offset < window.size; ++offset) {
    if (made * window.stride - window.padding + offset == read) return true;
  }
  return false;
}

// Whether computing `made` reads element `read` of a tensor that begins at this channel, straight
// from what the layers do.
bool reads(const Layer& reader, std::int64_t channel, const Element& made, const Element& read) {
  if (made[kSample] != read[kSample]) return false;
  if (reader.kind == LayerKind::kDense || reader.kind == LayerKind::kSoftmax) return true;
  if (reader.kind == LayerKind::kConcatenation) {
    return made[1] == read[1] + channel && made[2] == read[2] && made[3] == read[3] &&
           made[4] == read[4];
  }
  if (reader.kind == LayerKind::kPooling && made[kChannel] != read[kChannel]) return false;
  for (std::size_t s = 0; s + kFirstOfSpace < kDimensions; ++s) {
    const std::size_t d = s + kFirstOfSpace;
    if (!window_covers(reader.windows[s], made[d], read[d])) return false;
  }
  return true;
}

// Each element that a device needs and does not have moves once, and its gradient back.
Moved naive_moves(const Layer& producer, const Layer& reader, std::int64_t channel,
                  const Degrees& from, const Degrees& to, std::int64_t devices_per_host) {
  std::set<std::pair<Element, std::int64_t>> needed;
  each_element(reader.output, [&](const Element& made) {
    const std::int64_t device = device_of(made, reader.output, to);
    each_element(producer.output, [&](const Element& read) {
      if (reads(reader, channel, made, read)) needed.emplace(read, device);
    });
  });
  Moved moved;
  for (const auto& [element, device] : needed) {
    const std::int64_t owner = device_of(element, producer.output, from);
    if (owner == device) continue;
    const bool same = owner / devices_per_host == device / devices_per_host;
    (same ? moved.within_host : moved.between_hosts) += 2 * 4;
  }
  return moved;
}

void expect_counted(const LayerGraph& graph, int devices, int devices_per_host) {
  const TrainingSetting setting = setting_of(devices, devices_per_host);
  std::int64_t most = 0;
  for (const LayerEdge& edge : graph.edges) {
    const Layer& producer = graph.layers[edge.first];
    const Layer& reader = graph.layers[edge.second];
    TensorMoves moves(producer, reader, edge.channel, setting);
    for (const Degrees& from : ways_to_split(producer, devices)) {
      for (const Degrees& to : ways_to_split(reader, devices)) {
        const Moved moved = moves.moved(from, to);
        const Moved counted =
            naive_moves(producer, reader, edge.channel, from, to, devices_per_host);
        EXPECT_EQ(moved.within_host, counted.within_host)
            << graph.name << " " << text_of(producer, from) << " to " << text_of(reader, to);
        EXPECT_EQ(moved.between_hosts, counted.between_hosts)
            << graph.name << " " << text_of(producer, from) << " to " << text_of(reader, to);
        most = std::max(most, moved.bytes());
      }
    }
  }
  EXPECT_GT(most, 0);
}

TEST(TensorMoves, CountEveryElementOfPlanesAndDenseLayers) {
  LayerGraphBuilder net("planes", {2, 2, 5, 4, 1}, 2);
  auto at = net.convolution("first", LayerGraphBuilder::kImage, 3, square(1));
  at = net.convolution("second", at, 4, square(3, 1, 1));
  at = net.pooling("third", at, square(3, 2));
  at = net.dense("fourth", at, 4);
  net.softmax("last", at);
  expect_counted(net.take(), 4, 2);
}

TEST(TensorMoves, CountEveryElementOnUnevenHosts) {
  LayerGraphBuilder net("uneven", {3, 2, 3, 3, 1}, 2);
  auto at = net.convolution("first", LayerGraphBuilder::kImage, 3, square(1));
  at = net.convolution("second", at, 2, square(3, 1, 1));
  net.dense("last", at, 6);
  const LayerGraph graph = net.take();
  expect_counted(graph, 6, 4);
  expect_counted(graph, 6, 8);
}

TEST(TensorMoves, CountEveryElementOfConcatenations) {
  LayerGraphBuilder net("joined", {2, 3, 3, 3, 1}, 2);
  const auto first = net.convolution("first", LayerGraphBuilder::kImage, 3, square(1));
  const auto left = net.convolution("left", first, 2, square(1));
  const auto right = net.pooling("right", first, square(3, 1, 1));
  const auto joined = net.concatenation("joined", {left, right});
  net.convolution("last", joined, 2, square(1));
  expect_counted(net.take(), 4, 2);
}

TEST(TensorMoves, CountEveryElementOfLinesAndVolumes) {
  LayerGraphBuilder line("line", {2, 2, 9, 1, 1}, 1);
  auto at = line.convolution("first", LayerGraphBuilder::kImage, 4, {Window{3, 2, 1}, {}, {}});
  line.convolution("last", at, 2, {Window{3, 1, 1}, {}, {}});
  expect_counted(line.take(), 4, 2);
  const Window window{2, 1, 0};
  LayerGraphBuilder volume("volume", {2, 1, 3, 3, 3}, 3);
  at = volume.convolution("first", LayerGraphBuilder::kImage, 2, {window, window, window});
  volume.pooling("last", at, {window, Window{}, window});
  expect_counted(volume.take(), 4, 2);
}

TEST(WaysToSplit, ListAllDegreesThatDivideDevices) {
  const auto graph = published_network("vgg16", 512);
  ASSERT_TRUE(graph.ok());
  for (const int devices : {1, 2, 4, 6, 16}) {
    for (const Layer& layer : graph.value().layers) {
      std::set<Degrees> different;
      for (const Degrees& degrees : ways_to_split(layer, devices)) {
        EXPECT_EQ(devices % parts_of(degrees), 0) << layer.name;
        for (std::size_t d = 0; d < kDimensions; ++d) EXPECT_LE(degrees[d], layer.output[d]);
        for (std::size_t d = dimensions_of(layer); d < kDimensions; ++d) EXPECT_EQ(degrees[d], 1);
        EXPECT_TRUE(different.insert(degrees).second);
      }
    }
  }
  // Powers of two over four dimensions, up to 4 and up to 16 parts; over two dimensions.
  EXPECT_EQ(ways_to_split(graph.value().layers[0], 4).size(), 1U + 4U + 10U);
  EXPECT_EQ(ways_to_split(graph.value().layers[0], 16).size(), 1U + 4U + 10U + 20U + 35U);
  EXPECT_EQ(ways_to_split(graph.value().layers.back(), 4).size(), 1U + 2U + 3U);
}

const Layer& first_dense(const LayerGraph& graph) {
  for (const Layer& layer : graph.layers) {
    if (layer.kind == LayerKind::kDense) return layer;
  }
  return graph.layers.front();
}

TEST(Synchronised, CountsTwoMovesPerCopyExceptServer) {
  const auto graph = published_network("vgg16", 32 * 16);
  ASSERT_TRUE(graph.ok());
  const Layer& dense = first_dense(graph.value());
  const std::int64_t bytes = std::int64_t{4} * 4096 * (25088 + 1);
  const TrainingSetting setting = setting_of(16, 4);
  const Moved samples = synchronised(dense, {16, 1, 1, 1, 1}, setting);
  EXPECT_EQ(samples.within_host, 2 * 3 * bytes);
  EXPECT_EQ(samples.between_hosts, 2 * 12 * bytes);
  EXPECT_EQ(synchronised(dense, {1, 16, 1, 1, 1}, setting).bytes(), 0);
  // Channels fastest: the two copies of a half are devices 0 and 2, 1 and 3.
  EXPECT_EQ(synchronised(dense, {2, 2, 1, 1, 1}, setting).within_host, 2 * bytes);
}

// Figure 2 of the paper: VGG-16's first dense layer in two halves, by samples or by channels. The
// paper says 12 times fewer bytes; of shapes alone it is 64 times, for 32 samples a device.
TEST(Synchronised, ChannelSplitOfDenseLayerMovesFewerBytes) {
  const auto graph = published_network("vgg16", 64);
  ASSERT_TRUE(graph.ok());
  const Layer& dense = first_dense(graph.value());
  const TrainingSetting setting = setting_of(2, 4);
  const Layer& pool = graph.value().layers[17];
  ASSERT_EQ(pool.name, "pool5");
  TensorMoves moves(pool, dense, 0, setting);
  EXPECT_EQ(moves.moved({2, 1, 1, 1, 1}, {2, 1, 1, 1, 1}).bytes(), 0);
  EXPECT_EQ(synchronised(dense, {2, 1, 1, 1, 1}, setting).bytes(),
            std::int64_t{2} * 4 * 4096 * (25088 + 1));
  EXPECT_EQ(moves.moved({2, 1, 1, 1, 1}, {1, 2, 1, 1, 1}).bytes(),
            std::int64_t{2} * 4 * 64 * 25088);
}

TEST(ComputeSeconds, FollowOperationsOfLargestPart) {
  TrainingSetting setting = setting_of(4, 4);
  setting.operations = 1e9;
  setting.memory_bandwidth = 1e30;
  LayerGraphBuilder net("one", {8, 3, 10, 10, 1}, 2);
  net.convolution("only", LayerGraphBuilder::kImage, 4, square(3));
  const LayerGraph graph = net.take();
  const double all = 3.0 * 8 * 4 * 8 * 8 * (2 * 3 * 9) / 1e9;
  EXPECT_DOUBLE_EQ(compute_seconds(graph.layers[0], {1, 1, 1, 1, 1}, setting), all);
  EXPECT_DOUBLE_EQ(compute_seconds(graph.layers[0], {2, 2, 1, 1, 1}, setting), all / 4);
  EXPECT_DOUBLE_EQ(compute_seconds(graph.layers[0], {1, 1, 3, 1, 1}, setting), all * 3 / 8);
}

TEST(ComputeSeconds, FollowMemoryBandwidthWhereSlower) {
  TrainingSetting setting = setting_of(4, 4);
  setting.operations = 1e30;
  setting.memory_bandwidth = 1e9;
  LayerGraphBuilder net("one", {8, 3, 10, 10, 1}, 2);
  net.pooling("only", LayerGraphBuilder::kImage, square(2, 2));
  const LayerGraph graph = net.take();
  const double bytes = 4.0 * 8 * 3 * (100 + 25);
  EXPECT_DOUBLE_EQ(compute_seconds(graph.layers[0], {1, 1, 1, 1, 1}, setting), 2 * bytes / 1e9);
}

}  // namespace
}  // namespace optile::placement
