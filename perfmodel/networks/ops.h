// Ops of the TensorFlow 1.x graphs with their shapes, costs and gradients. Each function records
// one op, or the few that the framework records for one call, and returns its output. Names are
// those of the framework's kernels; a gradient is what its gradient registry builds.
#pragma once

#include <string>
#include <vector>

#include "perfmodel/networks/tape.h"

namespace optile::perfmodel::networks {

enum class Padding : uint8_t { kSame, kValid };

struct Window {
  int64_t height = 1;
  int64_t width = 1;
  int64_t stride = 1;
  Padding padding = Padding::kSame;
};

// Images are (batch, height, width, channels).
NodeId conv2d(Tape& tape, NodeId x, int64_t channels, const Window& window);
// `size`: height and width of the result; the forward op is Conv2DBackpropInput.
NodeId conv2d_transpose(Tape& tape, NodeId x, int64_t size, int64_t channels, const Window& window);
NodeId max_pool(Tape& tape, NodeId x, const Window& window);
NodeId avg_pool(Tape& tape, NodeId x, const Window& window);
NodeId bias_add(Tape& tape, NodeId x, NodeId bias);
NodeId bias_add(Tape& tape, NodeId x);  // with a variable of its own
NodeId matmul(Tape& tape, NodeId x, NodeId weights);
NodeId linear(Tape& tape, NodeId x, int64_t outputs);  // MatMul and BiasAdd

// One input. `flops` an element.
NodeId unary(Tape& tape, const std::string& op, const std::string& gradient, NodeId x,
             double flops = 1);
NodeId relu(Tape& tape, NodeId x);
// As tf.where(x < 0, slope * x, x): Less, Mul, Select.
NodeId leaky_relu_by_select(Tape& tape, NodeId x);
// As tf.maximum(x, slope * x).
NodeId leaky_relu_by_maximum(Tape& tape, NodeId x);

// Two inputs; the smaller is broadcast and its gradient summed.
NodeId add(Tape& tape, NodeId a, NodeId b);
NodeId subtract(Tape& tape, NodeId a, NodeId b);
NodeId multiply(Tape& tape, NodeId a, NodeId b);
NodeId squared_difference(Tape& tape, NodeId a, NodeId b);

// Over all axes but the last; the gradient is Tile and RealDiv.
NodeId mean_to_channels(Tape& tape, NodeId x);
// Over height and width; the same gradient.
NodeId mean_to_images(Tape& tape, NodeId x);
NodeId mean_to_scalar(Tape& tape, NodeId x);

// As tf.nn.moments and tf.nn.batch_normalization: some ten ops. `scaled`: with a gamma.
NodeId batch_norm_by_hand(Tape& tape, NodeId x, bool scaled);
NodeId fused_batch_norm(Tape& tape, NodeId x);

NodeId reshape(Tape& tape, NodeId x, const Shape& shape);
NodeId concat(Tape& tape, const std::vector<NodeId>& parts);      // along the last axis
std::vector<NodeId> split(Tape& tape, NodeId x, int64_t parts);   // along the last axis
std::vector<NodeId> unpack(Tape& tape, NodeId x, int64_t parts);  // along the first axis

NodeId sparse_softmax_cross_entropy(Tape& tape, NodeId logits, NodeId labels);
NodeId sigmoid_cross_entropy(Tape& tape, NodeId logits);
// rate * sum of L2Loss over the variables; joins `loss`.
NodeId add_weight_decay(Tape& tape, NodeId loss, const std::vector<NodeId>& weights);

// `slots`: further tensors of the variable's size that are read and written (Momentum 1, Adam 2).
void apply_gradient(Tape& tape, const std::string& op, NodeId variable, NodeId gradient, int slots,
                    double flops);

}  // namespace optile::perfmodel::networks
