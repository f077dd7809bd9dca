#include "perfmodel/networks/dcgan.h"

#include <vector>

#include "perfmodel/networks/ops.h"
#include "perfmodel/networks/training.h"

namespace optile::perfmodel::networks {

namespace {

constexpr int64_t kLabels = 10;
constexpr int64_t kNoise = 100;
constexpr int64_t kFilters = 64;
constexpr int64_t kDense = 1024;
constexpr Window kWindow{5, 5, 2};
const Optimizer kAdam{"ApplyAdam", 2, 12};

// Labels as further channels of images: y * ones, then a concatenation.
NodeId with_labels(Tape& tape, NodeId x) {
  const Shape& shape = tape.shape(x);
  const Shape wide{shape[0], shape[1], shape[2], kLabels};
  const double flops = static_cast<double>(elements(wide));
  const NodeId labels = tape.op("Mul", {tape.input(wide)}, wide, flops);
  return concat(tape, {x, labels});
}

NodeId with_label_vector(Tape& tape, NodeId x) {
  return concat(tape, {x, tape.input({tape.shape(x)[0], kLabels})});
}

NodeId generated(Tape& tape, const Dcgan& size) {
  const int64_t half = size.image / 2;
  const int64_t quarter = size.image / 4;
  NodeId x = tape.input({size.batch, kNoise + kLabels});
  x = relu(tape, fused_batch_norm(tape, linear(tape, x, kDense)));
  x = linear(tape, with_label_vector(tape, x), kFilters * 2 * quarter * quarter);
  x = relu(tape, fused_batch_norm(tape, x));
  x = reshape(tape, x, {size.batch, quarter, quarter, kFilters * 2});
  x = bias_add(tape, conv2d_transpose(tape, with_labels(tape, x), half, kFilters * 2, kWindow));
  x = relu(tape, fused_batch_norm(tape, x));
  x = bias_add(tape, conv2d_transpose(tape, with_labels(tape, x), size.image, 1, kWindow));
  return unary(tape, "Sigmoid", "SigmoidGrad", x, 4);
}

// Variables are shared between two calls of one run: the second call's take the gradients' sum.
struct Discriminator {
  std::vector<NodeId> variables;
  NodeId logits = kNothing;
};

Discriminator judged(Tape& tape, NodeId images) {
  const size_t before = tape.variables().size();
  const int64_t batch = tape.shape(images)[0];
  NodeId x = bias_add(tape, conv2d(tape, with_labels(tape, images), 1 + kLabels, kWindow));
  x = with_labels(tape, leaky_relu_by_maximum(tape, x));
  x = bias_add(tape, conv2d(tape, x, kFilters + kLabels, kWindow));
  x = leaky_relu_by_maximum(tape, fused_batch_norm(tape, x));
  x = reshape(tape, x, {batch, elements(tape.shape(x)) / batch});
  x = fused_batch_norm(tape, linear(tape, with_label_vector(tape, x), kDense));
  x = with_label_vector(tape, leaky_relu_by_maximum(tape, x));
  Discriminator found;
  found.logits = linear(tape, x, 1);
  const std::vector<NodeId>& all = tape.variables();
  found.variables.assign(all.begin() + static_cast<std::ptrdiff_t>(before), all.end());
  return found;
}

void train_discriminator(Tape& tape, const Dcgan& size) {
  const NodeId images = tape.input({size.batch, size.image, size.image, 1});
  const Discriminator real = judged(tape, images);
  const Discriminator fake =
      judged(tape, tape.view(generated(tape, size), {size.batch, size.image, size.image, 1}));
  const NodeId loss =
      add(tape, sigmoid_cross_entropy(tape, real.logits), sigmoid_cross_entropy(tape, fake.logits));
  tape.tie(real.variables, fake.variables);
  train(tape, loss, real.variables, kAdam);
  tape.barrier();
}

void train_generator(Tape& tape, const Dcgan& size) {
  const size_t before = tape.variables().size();
  const NodeId images = generated(tape, size);
  const std::vector<NodeId>& all = tape.variables();
  const std::vector<NodeId> variables(all.begin() + static_cast<std::ptrdiff_t>(before), all.end());
  train(tape, sigmoid_cross_entropy(tape, judged(tape, images).logits), variables, kAdam);
  tape.barrier();
}

}  // namespace

Tape dcgan(const Dcgan& size) {
  Tape tape;
  train_discriminator(tape, size);
  for (int run = 0; run < size.generator_runs; ++run) {
    train_generator(tape, size);
  }
  return tape;
}

}  // namespace optile::perfmodel::networks
