#include "placement/layers/layer_graph.h"

#include <algorithm>
#include <utility>

namespace optile::placement {
namespace {

bool has_windows(const Layer& layer) {
  return layer.kind == LayerKind::kConvolution || layer.kind == LayerKind::kPooling;
}

// Whether every element of the output reads all channels and positions of its sample.
bool reads_whole_samples(const Layer& layer) {
  return layer.kind == LayerKind::kDense || layer.kind == LayerKind::kSoftmax;
}

std::int64_t window_elements(const Layer& layer) {
  std::int64_t elements = 1;
  for (const Window& window : layer.windows) elements *= window.size;
  return elements;
}

std::int64_t elements_of_sample(const Extents& extents) {
  std::int64_t elements = 1;
  for (std::size_t d = kChannel; d < kDimensions; ++d) elements *= extents[d];
  return elements;
}

void slide(Layer& layer) {
  for (std::size_t s = 0; s < layer.space; ++s) {
    const Window& window = layer.windows[s];
    layer.output[kFirstOfSpace + s] =
        (layer.input[kFirstOfSpace + s] + 2 * window.padding - window.size) / window.stride + 1;
  }
}

}  // namespace

const char* name_of(LayerKind kind) {
  switch (kind) {
    case LayerKind::kConvolution:
      return "convolution";
    case LayerKind::kPooling:
      return "pooling";
    case LayerKind::kDense:
      return "dense";
    case LayerKind::kSoftmax:
      return "softmax";
    case LayerKind::kConcatenation:
      return "concatenation";
  }
  return "";
}

Range part_of(std::int64_t extent, std::int64_t part, std::int64_t parts) {
  return {part * extent / parts, (part + 1) * extent / parts};
}

Range read_for(const Layer& layer, std::size_t dimension, Range output) {
  const Range all{0, layer.input[dimension]};
  if (dimension == kSample) return output;
  if (reads_whole_samples(layer)) return all;
  if (dimension == kChannel) return layer.kind == LayerKind::kConvolution ? all : output;
  if (!has_windows(layer)) return output;
  const Window& window = layer.windows[dimension - kFirstOfSpace];
  const std::int64_t begin = output.begin * window.stride - window.padding;
  const std::int64_t end = (output.end - 1) * window.stride - window.padding + window.size;
  return {std::max<std::int64_t>(begin, 0), std::min(end, all.end)};
}

std::int64_t operations_per_element(const Layer& layer) {
  switch (layer.kind) {
    case LayerKind::kConvolution:
      return 2 * layer.input[kChannel] * window_elements(layer);
    case LayerKind::kPooling:
      return window_elements(layer);
    case LayerKind::kDense:
      return 2 * elements_of_sample(layer.input);
    case LayerKind::kSoftmax:
      return 4;  // largest, exponential, sum, quotient
    case LayerKind::kConcatenation:
      return 0;
  }
  return 0;
}

std::int64_t parameters_per_channel(const Layer& layer) {
  if (layer.kind == LayerKind::kDense) return elements_of_sample(layer.input) + 1;
  if (layer.kind != LayerKind::kConvolution) return 0;
  return layer.input[kChannel] * window_elements(layer) + 1;
}

std::size_t dimensions_of(const Layer& layer) {
  return kFirstOfSpace + layer.space;
}

std::string_view letter_of(const Layer& layer, std::size_t dimension) {
  if (dimension == kSample) return "n";
  if (dimension == kChannel) return "c";
  if (layer.space == 1) return "l";
  return std::string_view("hwd").substr(dimension - kFirstOfSpace, 1);
}

LayerGraphBuilder::LayerGraphBuilder(std::string name, Extents image, std::size_t space)
    : image_(image), space_(space) {
  graph_.name = std::move(name);
}

const Extents& LayerGraphBuilder::output_of(std::uint32_t layer) const {
  return layer == kImage ? image_ : graph_.layers[layer].output;
}

std::uint32_t LayerGraphBuilder::add(Layer layer, std::uint32_t input) {
  const auto number = static_cast<std::uint32_t>(graph_.layers.size());
  graph_.layers.push_back(std::move(layer));
  if (input != kImage) graph_.edges.push_back({input, number, 0});
  return number;
}

std::uint32_t LayerGraphBuilder::convolution(const std::string& name, std::uint32_t input,
                                             std::int64_t channels, const Windows& windows) {
  const Extents& read = output_of(input);
  Layer layer{name, LayerKind::kConvolution, space_, read, read, windows};
  layer.output[kChannel] = channels;
  slide(layer);
  return add(std::move(layer), input);
}

std::uint32_t LayerGraphBuilder::pooling(const std::string& name, std::uint32_t input,
                                         const Windows& windows) {
  const Extents& read = output_of(input);
  Layer layer{name, LayerKind::kPooling, space_, read, read, windows};
  slide(layer);
  return add(std::move(layer), input);
}

std::uint32_t LayerGraphBuilder::dense(const std::string& name, std::uint32_t input,
                                       std::int64_t channels) {
  const Extents& read = output_of(input);
  const Extents made{read[kSample], channels, 1, 1, 1};
  return add({name, LayerKind::kDense, 0, read, made, {}}, input);
}

std::uint32_t LayerGraphBuilder::softmax(const std::string& name, std::uint32_t input) {
  const Extents& read = output_of(input);
  return add({name, LayerKind::kSoftmax, 0, read, read, {}}, input);
}

std::uint32_t LayerGraphBuilder::concatenation(const std::string& name,
                                               const std::vector<std::uint32_t>& inputs) {
  const auto number = static_cast<std::uint32_t>(graph_.layers.size());
  Extents together = output_of(inputs.front());
  together[kChannel] = 0;
  for (const std::uint32_t input : inputs) {
    graph_.edges.push_back({input, number, together[kChannel]});
    together[kChannel] += output_of(input)[kChannel];
  }
  graph_.layers.push_back({name, LayerKind::kConcatenation, space_, together, together, {}});
  return number;
}

}  // namespace optile::placement
