#include "perfmodel/networks/inception_v3.h"

#include <vector>

#include "perfmodel/networks/ops.h"
#include "perfmodel/networks/training.h"

namespace optile::perfmodel::networks {

namespace {

constexpr Padding kValid = Padding::kValid;
constexpr Window kPooling{3, 3, 1};  // inside a block, same size
constexpr Window kReducing{3, 3, 2, kValid};

NodeId conv(Tape& tape, NodeId x, int64_t channels, const Window& window = {1, 1, 1}) {
  const NodeId normal = batch_norm_by_hand(tape, conv2d(tape, x, channels, window), false);
  return relu(tape, normal);
}

// 35x35: 5x5 and a double 3x3 beside 1x1 and pooling.
NodeId wide_block(Tape& tape, NodeId x, int64_t pooled) {
  const NodeId straight = conv(tape, x, 64);
  const NodeId five = conv(tape, conv(tape, x, 48), 64, {5, 5});
  const NodeId twice = conv(tape, conv(tape, conv(tape, x, 64), 96, {3, 3}), 96, {3, 3});
  return concat(tape, {straight, five, twice, conv(tape, avg_pool(tape, x, kPooling), pooled)});
}

NodeId first_reduction(Tape& tape, NodeId x) {
  const NodeId once = conv(tape, x, 384, kReducing);
  const NodeId twice = conv(tape, conv(tape, conv(tape, x, 64), 96, {3, 3}), 96, kReducing);
  return concat(tape, {once, twice, max_pool(tape, x, kReducing)});
}

// 17x17: 7x7 factorised, once and twice.
NodeId middle_block(Tape& tape, NodeId x, int64_t width) {
  const NodeId straight = conv(tape, x, 192);
  NodeId once = conv(tape, x, width);
  once = conv(tape, conv(tape, once, width, {1, 7}), 192, {7, 1});
  NodeId twice = conv(tape, x, width);
  twice = conv(tape, conv(tape, twice, width, {7, 1}), width, {1, 7});
  twice = conv(tape, conv(tape, twice, width, {7, 1}), 192, {1, 7});
  return concat(tape, {straight, once, twice, conv(tape, avg_pool(tape, x, kPooling), 192)});
}

NodeId second_reduction(Tape& tape, NodeId x) {
  const NodeId once = conv(tape, conv(tape, x, 192), 320, kReducing);
  NodeId seven = conv(tape, conv(tape, conv(tape, x, 192), 192, {1, 7}), 192, {7, 1});
  seven = conv(tape, seven, 192, kReducing);
  return concat(tape, {once, seven, max_pool(tape, x, kReducing)});
}

// 8x8: 3x3 split into 1x3 and 3x1 side by side.
NodeId narrow_block(Tape& tape, NodeId x) {
  const NodeId straight = conv(tape, x, 320);
  const NodeId once = conv(tape, x, 384);
  const NodeId sides = concat(tape, {conv(tape, once, 384, {1, 3}), conv(tape, once, 384, {3, 1})});
  const NodeId twice = conv(tape, conv(tape, x, 448), 384, {3, 3});
  const NodeId far = concat(tape, {conv(tape, twice, 384, {1, 3}), conv(tape, twice, 384, {3, 1})});
  return concat(tape, {straight, sides, far, conv(tape, avg_pool(tape, x, kPooling), 192)});
}

NodeId stem(Tape& tape, NodeId images) {
  NodeId x = conv(tape, images, 32, kReducing);
  x = conv(tape, x, 32, {3, 3, 1, kValid});
  x = max_pool(tape, conv(tape, x, 64, {3, 3}), kReducing);
  x = conv(tape, conv(tape, x, 80, {1, 1, 1, kValid}), 192, {3, 3, 1, kValid});
  return max_pool(tape, x, kReducing);
}

NodeId head_loss(Tape& tape, NodeId logits) {
  const NodeId labels = tape.input({tape.shape(logits)[0]});
  return mean_to_scalar(tape, sparse_softmax_cross_entropy(tape, logits, labels));
}

NodeId flat(Tape& tape, NodeId x) {
  const int64_t batch = tape.shape(x)[0];
  return reshape(tape, x, {batch, elements(tape.shape(x)) / batch});
}

NodeId auxiliary_loss(Tape& tape, NodeId x, int64_t classes) {
  NodeId y = conv(tape, avg_pool(tape, x, {5, 5, 3, kValid}), 128);
  const int64_t side = tape.shape(y)[1];
  y = conv(tape, y, 768, {side, side, 1, kValid});
  const NodeId loss = head_loss(tape, linear(tape, flat(tape, y), classes));
  return multiply(tape, loss, tape.input({}));
}

}  // namespace

Tape inception_v3(const InceptionV3& size) {
  Tape tape;
  NodeId x = stem(tape, tape.input({size.batch, size.image, size.image, 3}));
  for (const int64_t pooled : {32, 64, 64}) {
    x = wide_block(tape, x, pooled);
  }
  x = first_reduction(tape, x);
  for (const int64_t width : {128, 160, 160, 192}) {
    x = middle_block(tape, x, width);
  }
  const NodeId beside = auxiliary_loss(tape, x, size.classes);
  x = second_reduction(tape, x);
  x = narrow_block(tape, narrow_block(tape, x));
  const int64_t side = tape.shape(x)[1];
  x = flat(tape, avg_pool(tape, x, {side, side, 1, kValid}));
  NodeId loss = add(tape, head_loss(tape, linear(tape, x, size.classes)), beside);
  std::vector<NodeId> filters;
  for (const NodeId variable : tape.variables()) {
    if (tape.shape(variable).size() > 1) {
      filters.push_back(variable);
    }
  }
  loss = add_weight_decay(tape, loss, filters);
  train(tape, loss, tape.variables(), {"ApplyRMSProp", 2, 9});
  return tape;
}

}  // namespace optile::perfmodel::networks
