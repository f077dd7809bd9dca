// A network as a graph of layers, for splitting each layer over devices: what it computes, which
// part of its input a part of its output needs, and the shapes of published networks.
// Source: OptCNN, sections 3 and 4, table 1. Values, no threads of their own.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace optile::placement {

// A tensor's dimensions in this order: sample, channel, and up to three of space: height, width and
// depth, or length alone. Those that a tensor lacks have extent 1.
inline constexpr std::size_t kDimensions = 5;
inline constexpr std::size_t kSample = 0;
inline constexpr std::size_t kChannel = 1;
inline constexpr std::size_t kFirstOfSpace = 2;
using Extents = std::array<std::int64_t, kDimensions>;

enum class LayerKind { kConvolution, kPooling, kDense, kSoftmax, kConcatenation };
const char* name_of(LayerKind kind);

// How a window moves along one dimension of space.
struct Window {
  std::int64_t size = 1;
  std::int64_t stride = 1;
  std::int64_t padding = 0;  // on either side
};
using Windows = std::array<Window, kDimensions - kFirstOfSpace>;

struct Layer {
  std::string name;
  LayerKind kind = LayerKind::kConvolution;
  std::size_t space = 0;  // dimensions of space of its output
  Extents input{};        // of all its inputs together
  Extents output{};
  Windows windows{};  // of convolution and pooling
};

// A tensor that one layer makes and another one reads.
struct LayerEdge {
  std::uint32_t first = 0;
  std::uint32_t second = 0;
  std::int64_t channel = 0;  // of the reader's input, where this tensor begins
};

struct LayerGraph {
  std::string name;
  std::vector<Layer> layers;  // each after those that it reads
  std::vector<LayerEdge> edges;
};

// Half open.
struct Range {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  std::int64_t size() const { return end > begin ? end - begin : 0; }
};

// Part `part` of `parts` of an extent: equal as far as whole numbers allow.
Range part_of(std::int64_t extent, std::int64_t part, std::int64_t parts);

// What of its input, along one dimension, `layer` reads for this range of its output.
Range read_for(const Layer& layer, std::size_t dimension, Range output);

// Operations of the forward pass for one element of the output.
std::int64_t operations_per_element(const Layer& layer);
// Weights and bias of one channel of the output.
std::int64_t parameters_per_channel(const Layer& layer);

// Whether the dimensions of space may be split, and into how many letters it is written: "n", "c",
// and "l", or "h", "w", "d".
std::size_t dimensions_of(const Layer& layer);
std::string_view letter_of(const Layer& layer, std::size_t dimension);

// Adds layers one after the other and works out their shapes.
class LayerGraphBuilder {
 public:
  // `image`: what the first layer reads, with its samples and `space` dimensions of space.
  LayerGraphBuilder(std::string name, Extents image, std::size_t space);

  // Stands for the image as an input.
  static constexpr std::uint32_t kImage = ~std::uint32_t{0};

  std::uint32_t convolution(const std::string& name, std::uint32_t input, std::int64_t channels,
                            const Windows& windows);
  std::uint32_t pooling(const std::string& name, std::uint32_t input, const Windows& windows);
  std::uint32_t dense(const std::string& name, std::uint32_t input, std::int64_t channels);
  std::uint32_t softmax(const std::string& name, std::uint32_t input);
  std::uint32_t concatenation(const std::string& name, const std::vector<std::uint32_t>& inputs);
  LayerGraph take() { return std::move(graph_); }

 private:
  std::uint32_t add(Layer layer, std::uint32_t input);
  const Extents& output_of(std::uint32_t layer) const;

  LayerGraph graph_;
  Extents image_;
  std::size_t space_;
};

// Square windows.
Windows square(std::int64_t size, std::int64_t stride = 1, std::int64_t padding = 0);

// Of LeNet-5, AlexNet, VGG-16, Inception-v3: lenet5, alexnet, vgg16, inception_v3. kInvalid for
// another name, or fewer than one sample.
std::vector<std::string> published_networks();
base::Result<LayerGraph> published_network(const std::string& name, std::int64_t samples);

// Szegedy et al., table 1, with the module widths of the published model.
LayerGraph inception_v3(std::int64_t samples);

}  // namespace optile::placement
