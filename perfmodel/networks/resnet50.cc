#include "perfmodel/networks/resnet50.h"

#include <vector>

#include "perfmodel/networks/ops.h"
#include "perfmodel/networks/training.h"

namespace optile::perfmodel::networks {

namespace {

struct Stage {
  int64_t width;
  int blocks;
  int64_t stride;
};
constexpr Stage kStages[] = {{64, 3, 1}, {128, 4, 2}, {256, 6, 2}, {512, 3, 2}};
constexpr int64_t kExpansion = 4;

NodeId convolved(Tape& tape, NodeId x, int64_t channels, int64_t window, int64_t stride) {
  return batch_norm_by_hand(tape, conv2d(tape, x, channels, {window, window, stride}), true);
}

NodeId bottleneck(Tape& tape, NodeId x, int64_t width, int64_t stride) {
  const int64_t outputs = width * kExpansion;
  NodeId y = leaky_relu_by_select(tape, convolved(tape, x, width, 1, 1));
  y = leaky_relu_by_select(tape, convolved(tape, y, width, 3, stride));
  y = convolved(tape, y, outputs, 1, 1);
  const bool changes = stride != 1 || tape.shape(x).back() != outputs;
  const NodeId around = changes ? convolved(tape, x, outputs, 1, stride) : x;
  return leaky_relu_by_select(tape, add(tape, y, around));
}

}  // namespace

Tape resnet50(const Resnet50& size) {
  Tape tape;
  const NodeId images = tape.input({size.batch, size.image, size.image, 3});
  NodeId x =
      size.small_stem ? convolved(tape, images, 64, 3, 1) : convolved(tape, images, 64, 7, 2);
  x = leaky_relu_by_select(tape, x);
  if (!size.small_stem) {
    x = max_pool(tape, x, {3, 3, 2});
  }
  for (const Stage& stage : kStages) {
    for (int block = 0; block < stage.blocks; ++block) {
      x = bottleneck(tape, x, stage.width, block == 0 ? stage.stride : 1);
    }
  }
  const NodeId logits = linear(tape, mean_to_images(tape, x), size.classes);
  const NodeId rows = sparse_softmax_cross_entropy(tape, logits, tape.input({size.batch}));
  std::vector<NodeId> filters;
  for (const NodeId variable : tape.variables()) {
    if (tape.shape(variable).size() > 1) {
      filters.push_back(variable);
    }
  }
  const NodeId loss = add_weight_decay(tape, mean_to_scalar(tape, rows), filters);
  train(tape, loss, tape.variables(), {"ApplyMomentum", 1, 4});
  return tape;
}

}  // namespace optile::perfmodel::networks
