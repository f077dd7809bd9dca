// Convolutions and pooling: what slides a window over images.
#include <algorithm>

#include "perfmodel/networks/ops.h"

namespace optile::perfmodel::networks {

namespace {

int64_t slid(int64_t size, int64_t window, const Window& over) {
  const int64_t room = over.padding == Padding::kSame ? size : size - window + 1;
  return std::max<int64_t>((room + over.stride - 1) / over.stride, 1);
}

Shape slid_shape(const Shape& from, int64_t channels, const Window& window) {
  return {from[0], slid(from[1], window.height, window), slid(from[2], window.width, window),
          channels};
}

// Multiplications and additions of a convolution between `narrow` (its output) and the filter.
double conv_flops(const Shape& narrow, const Shape& filter) {
  const double places = static_cast<double>(narrow[0] * narrow[1] * narrow[2]);
  return 2 * places * static_cast<double>(elements(filter));
}

NodeId pool(Tape& tape, const std::string& op, const std::string& gradient, NodeId x,
            const Window& window, bool reads_input) {
  const Shape shape = slid_shape(tape.shape(x), tape.shape(x)[3], window);
  const double flops = static_cast<double>(elements(shape) * window.height * window.width);
  return tape.op(op, {x}, shape, flops,
                 [gradient, flops, reads_input](Tape& t, NodeId node, NodeId dy) {
                   const NodeId from = t.at(node).inputs[0];
                   const std::vector<NodeId> inputs =
                       reads_input ? std::vector<NodeId>{from, node, dy} : std::vector<NodeId>{dy};
                   return std::vector<NodeId>{t.op(gradient, inputs, t.shape(from), flops)};
                 });
}

}  // namespace

NodeId conv2d(Tape& tape, NodeId x, int64_t channels, const Window& window) {
  const Shape from = tape.shape(x);
  const Shape shape = slid_shape(from, channels, window);
  const NodeId filter = tape.variable({window.height, window.width, from[3], channels});
  const double flops = conv_flops(shape, tape.shape(filter));
  return tape.op("Conv2D", {x, filter}, shape, flops, [flops](Tape& t, NodeId node, NodeId dy) {
    const NodeId image = t.at(node).inputs[0];
    const NodeId by = t.at(node).inputs[1];
    return std::vector<NodeId>{t.op("Conv2DBackpropInput", {by, dy}, t.shape(image), flops),
                               t.op("Conv2DBackpropFilter", {image, dy}, t.shape(by), flops)};
  });
}

NodeId conv2d_transpose(Tape& tape, NodeId x, int64_t size, int64_t channels,
                        const Window& window) {
  const Shape from = tape.shape(x);
  const NodeId filter = tape.variable({window.height, window.width, channels, from[3]});
  const double flops = conv_flops(from, tape.shape(filter));
  const Shape shape{from[0], size, size, channels};
  return tape.op(
      "Conv2DBackpropInput", {x, filter}, shape, flops, [flops](Tape& t, NodeId node, NodeId dy) {
        const NodeId image = t.at(node).inputs[0];
        const NodeId by = t.at(node).inputs[1];
        return std::vector<NodeId>{t.op("Conv2D", {dy, by}, t.shape(image), flops),
                                   t.op("Conv2DBackpropFilter", {dy, image}, t.shape(by), flops)};
      });
}

NodeId max_pool(Tape& tape, NodeId x, const Window& window) {
  return pool(tape, "MaxPooling", "MaxPoolGrad", x, window, true);
}

NodeId avg_pool(Tape& tape, NodeId x, const Window& window) {
  return pool(tape, "AvgPool", "AvgPoolGrad", x, window, false);
}

}  // namespace optile::perfmodel::networks
