#include "placement/layers/layer_graph.h"

namespace optile::placement {
namespace {

constexpr std::uint32_t kImage = LayerGraphBuilder::kImage;

// LeCun et al. 1998 in the form with two dense layers that frameworks ship: 6 layers and softmax.
LayerGraph lenet5(std::int64_t samples) {
  LayerGraphBuilder net("lenet5", {samples, 1, 28, 28, 1}, 2);
  auto at = net.convolution("conv1", kImage, 20, square(5));
  at = net.pooling("pool1", at, square(2, 2));
  at = net.convolution("conv2", at, 50, square(5));
  at = net.pooling("pool2", at, square(2, 2));
  at = net.dense("dense1", at, 500);
  at = net.dense("dense2", at, 10);
  net.softmax("softmax", at);
  return net.take();
}

// Krizhevsky et al. 2012 without the split of its channels over two devices: 11 layers and softmax.
LayerGraph alexnet(std::int64_t samples) {
  LayerGraphBuilder net("alexnet", {samples, 3, 227, 227, 1}, 2);
  auto at = net.convolution("conv1", kImage, 96, square(11, 4));
  at = net.pooling("pool1", at, square(3, 2));
  at = net.convolution("conv2", at, 256, square(5, 1, 2));
  at = net.pooling("pool2", at, square(3, 2));
  at = net.convolution("conv3", at, 384, square(3, 1, 1));
  at = net.convolution("conv4", at, 384, square(3, 1, 1));
  at = net.convolution("conv5", at, 256, square(3, 1, 1));
  at = net.pooling("pool5", at, square(3, 2));
  at = net.dense("dense6", at, 4096);
  at = net.dense("dense7", at, 4096);
  at = net.dense("dense8", at, 1000);
  net.softmax("softmax", at);
  return net.take();
}

// Simonyan and Zisserman, configuration D: 21 layers and softmax.
LayerGraph vgg16(std::int64_t samples) {
  LayerGraphBuilder net("vgg16", {samples, 3, 224, 224, 1}, 2);
  struct Block {
    int convolutions;
    std::int64_t channels;
  };
  auto at = kImage;
  int block = 0;
  for (const Block& of : {Block{2, 64}, {2, 128}, {3, 256}, {3, 512}, {3, 512}}) {
    const std::string number = std::to_string(++block);
    for (int i = 1; i <= of.convolutions; ++i) {
      at = net.convolution("conv" + number + "_" + std::to_string(i), at, of.channels,
                           square(3, 1, 1));
    }
    at = net.pooling("pool" + number, at, square(2, 2));
  }
  at = net.dense("dense6", at, 4096);
  at = net.dense("dense7", at, 4096);
  at = net.dense("dense8", at, 1000);
  net.softmax("softmax", at);
  return net.take();
}

}  // namespace

Windows square(std::int64_t size, std::int64_t stride, std::int64_t padding) {
  const Window window{size, stride, padding};
  return {window, window, Window{}};
}

std::vector<std::string> published_networks() {
  return {"lenet5", "alexnet", "vgg16", "inception_v3"};
}

base::Result<LayerGraph> published_network(const std::string& name, std::int64_t samples) {
  if (samples < 1) return base::Error{base::ErrorKind::kInvalid, "a batch has at least 1 sample"};
  if (name == "lenet5") return lenet5(samples);
  if (name == "alexnet") return alexnet(samples);
  if (name == "vgg16") return vgg16(samples);
  if (name == "inception_v3") return inception_v3(samples);
  return base::Error{
      base::ErrorKind::kInvalid,
      "there is no network " + name + "; there are lenet5, alexnet, vgg16, inception_v3"};
}

}  // namespace optile::placement
