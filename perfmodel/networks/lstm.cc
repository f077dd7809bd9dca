#include "perfmodel/networks/lstm.h"

#include <vector>

#include "perfmodel/networks/ops.h"
#include "perfmodel/networks/training.h"

namespace optile::perfmodel::networks {

namespace {

constexpr int64_t kGates = 4;
const Optimizer kDescent{"ApplyGradientDescent", 0, 2, 5.0};

struct Weights {
  NodeId kernel;
  NodeId bias;
};

struct State {
  NodeId cell;
  NodeId hidden;
};

NodeId sigmoid(Tape& tape, NodeId x) {
  return unary(tape, "Sigmoid", "SigmoidGrad", x, 4);
}
NodeId tanh(Tape& tape, NodeId x) {
  return unary(tape, "Tanh", "TanhGrad", x, 6);
}

State next(Tape& tape, NodeId x, const State& state, const Weights& weights) {
  const NodeId both = concat(tape, {x, state.hidden});
  const NodeId gates = bias_add(tape, matmul(tape, both, weights.kernel), weights.bias);
  const std::vector<NodeId> parts = split(tape, gates, kGates);
  const NodeId forget = sigmoid(tape, add(tape, parts[2], tape.input({})));
  const NodeId kept = multiply(tape, state.cell, forget);
  const NodeId fresh = multiply(tape, sigmoid(tape, parts[0]), tanh(tape, parts[1]));
  const NodeId cell = add(tape, kept, fresh);
  return {cell, multiply(tape, tanh(tape, cell), sigmoid(tape, parts[3]))};
}

// The words' vectors, one lookup for the whole batch; each word of a sentence is a slice of it.
NodeId embedded(Tape& tape, const Lstm& size) {
  const NodeId table = tape.variable({size.vocabulary, size.hidden});
  const NodeId words = tape.input({size.batch, size.steps});
  const Shape shape{size.batch * size.steps, size.hidden};
  // Only the rows that are looked up are read, so the table itself is no operand of the cost.
  const NodeId rows = tape.view(table, shape);
  return tape.op("GatherV2", {rows, words}, shape, 0, [](Tape& t, NodeId node, NodeId dy) {
    return std::vector<NodeId>{
        t.op("UnsortedSegmentSum", {dy}, t.shape(node), static_cast<double>(elements(t.shape(dy)))),
        kNothing};
  });
}

}  // namespace

Tape lstm(const Lstm& size) {
  Tape tape;
  const NodeId words = embedded(tape, size);
  std::vector<Weights> weights;
  std::vector<State> states;
  for (int64_t layer = 0; layer < size.layers; ++layer) {
    weights.push_back({tape.variable({2 * size.hidden, kGates * size.hidden}),
                       tape.variable({kGates * size.hidden})});
    const Shape shape{size.batch, size.hidden};
    states.push_back({tape.input(shape), tape.input(shape)});
  }
  const std::vector<NodeId> inputs = unpack(tape, words, size.steps);
  std::vector<NodeId> outputs;
  for (NodeId x : inputs) {
    for (size_t layer = 0; layer < weights.size(); ++layer) {
      states[layer] = next(tape, x, states[layer], weights[layer]);
      x = states[layer].hidden;
    }
    outputs.push_back(x);
  }
  const NodeId all = reshape(tape, concat(tape, outputs), {size.batch * size.steps, size.hidden});
  const NodeId logits = linear(tape, all, size.vocabulary);
  const NodeId labels = tape.input({size.batch * size.steps});
  const NodeId loss = mean_to_scalar(tape, sparse_softmax_cross_entropy(tape, logits, labels));
  train(tape, loss, tape.variables(), kDescent);
  return tape;
}

}  // namespace optile::perfmodel::networks
