#include "perfmodel/networks/ops.h"

#include <utility>

namespace optile::perfmodel::networks {

namespace {

double count(const Tape& tape, NodeId id) {
  return static_cast<double>(elements(tape.shape(id)));
}

// Sums `x` down to `shape` where a broadcast made it larger.
NodeId summed_to(Tape& tape, NodeId x, const Shape& shape) {
  if (elements(shape) == elements(tape.shape(x))) {
    return x;
  }
  return tape.op("Sum", {x}, shape, count(tape, x));
}

const Shape& larger(const Tape& tape, NodeId a, NodeId b) {
  return elements(tape.shape(a)) >= elements(tape.shape(b)) ? tape.shape(a) : tape.shape(b);
}

NodeId binary(Tape& tape, const std::string& op, NodeId a, NodeId b, double flops,
              Tape::Gradient gradient) {
  const Shape shape = larger(tape, a, b);
  return tape.op(op, {a, b}, shape, flops * static_cast<double>(elements(shape)),
                 std::move(gradient));
}

NodeId mean_to(Tape& tape, NodeId x, const Shape& shape) {
  return tape.op("Mean", {x}, shape, count(tape, x), [](Tape& t, NodeId node, NodeId dy) {
    const NodeId from = t.at(node).inputs[0];
    const Shape& wide = t.shape(from);
    const NodeId tiled = t.op("Tile", {dy}, wide, 0);
    return std::vector<NodeId>{t.op("RealDiv", {tiled}, wide, static_cast<double>(elements(wide)))};
  });
}

// One op with `parts` outputs, whose gradients are joined by one concatenation.
std::vector<NodeId> parted(Tape& tape, const std::string& op, NodeId x, const Shape& shape,
                           int64_t parts) {
  const NodeId whole = tape.op(op, {x}, tape.shape(x), 0,
                               [](Tape&, NodeId, NodeId dy) { return std::vector<NodeId>{dy}; });
  tape.gather(whole);
  std::vector<NodeId> outputs;
  for (int64_t i = 0; i < parts; ++i) {
    outputs.push_back(tape.view(whole, shape));
  }
  return outputs;
}

}  // namespace

NodeId bias_add(Tape& tape, NodeId x) {
  return bias_add(tape, x, tape.variable({tape.shape(x).back()}));
}

NodeId bias_add(Tape& tape, NodeId x, NodeId bias) {
  return tape.op(
      "BiasAdd", {x, bias}, tape.shape(x), count(tape, x), [](Tape& t, NodeId node, NodeId dy) {
        const Shape channels{t.shape(node).back()};
        return std::vector<NodeId>{dy, t.op("BiasAddGrad", {dy}, channels, count(t, dy))};
      });
}

NodeId matmul(Tape& tape, NodeId x, NodeId weights) {
  const int64_t outputs = tape.shape(weights)[1];
  const int64_t rows = tape.shape(x)[0];
  const double flops = 2.0 * count(tape, weights) * static_cast<double>(rows);
  return tape.op("MatMul", {x, weights}, {rows, outputs}, flops,
                 [flops](Tape& t, NodeId node, NodeId dy) {
                   const NodeId from = t.at(node).inputs[0];
                   const NodeId by = t.at(node).inputs[1];
                   return std::vector<NodeId>{t.op("MatMul", {dy, by}, t.shape(from), flops),
                                              t.op("MatMul", {from, dy}, t.shape(by), flops)};
                 });
}

NodeId linear(Tape& tape, NodeId x, int64_t outputs) {
  const NodeId weights = tape.variable({tape.shape(x)[1], outputs});
  return bias_add(tape, matmul(tape, x, weights));
}

NodeId unary(Tape& tape, const std::string& op, const std::string& gradient, NodeId x,
             double flops) {
  return tape.op(
      op, {x}, tape.shape(x), flops * count(tape, x), [gradient](Tape& t, NodeId node, NodeId dy) {
        return std::vector<NodeId>{t.op(gradient, {dy, node}, t.shape(node), count(t, node))};
      });
}

NodeId relu(Tape& tape, NodeId x) {
  return unary(tape, "Relu", "ReluGrad", x);
}

NodeId leaky_relu_by_select(Tape& tape, NodeId x) {
  const NodeId below = tape.op("Less", {x}, tape.shape(x), count(tape, x));
  const NodeId scaled = multiply(tape, x, tape.input({}));
  return tape.op("Select", {below, scaled, x}, tape.shape(x), count(tape, x),
                 [](Tape& t, NodeId node, NodeId dy) {
                   const NodeId where = t.at(node).inputs[0];
                   const Shape& shape = t.shape(node);
                   return std::vector<NodeId>{kNothing,
                                              t.op("Select", {where, dy}, shape, count(t, dy)),
                                              t.op("Select", {where, dy}, shape, count(t, dy))};
                 });
}

NodeId leaky_relu_by_maximum(Tape& tape, NodeId x) {
  const NodeId scaled = multiply(tape, x, tape.input({}));
  return tape.op("Maximum", {x, scaled}, tape.shape(x), count(tape, x),
                 [](Tape& t, NodeId node, NodeId dy) {
                   const std::vector<NodeId> from = t.at(node).inputs;
                   const Shape& shape = t.shape(node);
                   const NodeId where = t.op("GreaterEqual", from, shape, count(t, dy));
                   return std::vector<NodeId>{t.op("Select", {where, dy}, shape, count(t, dy)),
                                              t.op("Select", {where, dy}, shape, count(t, dy))};
                 });
}

NodeId add(Tape& tape, NodeId a, NodeId b) {
  return binary(tape, "Add", a, b, 1, [](Tape& t, NodeId node, NodeId dy) {
    const std::vector<NodeId> from = t.at(node).inputs;
    return std::vector<NodeId>{summed_to(t, dy, t.shape(from[0])),
                               summed_to(t, dy, t.shape(from[1]))};
  });
}

NodeId subtract(Tape& tape, NodeId a, NodeId b) {
  return binary(tape, "Sub", a, b, 1, [](Tape& t, NodeId node, NodeId dy) {
    const std::vector<NodeId> from = t.at(node).inputs;
    const NodeId right = summed_to(t, dy, t.shape(from[1]));
    return std::vector<NodeId>{summed_to(t, dy, t.shape(from[0])),
                               t.op("Neg", {right}, t.shape(from[1]), count(t, right))};
  });
}

NodeId multiply(Tape& tape, NodeId a, NodeId b) {
  return binary(tape, "Mul", a, b, 1, [](Tape& t, NodeId node, NodeId dy) {
    const std::vector<NodeId> from = t.at(node).inputs;
    const Shape wide = t.shape(dy);
    const double flops = count(t, dy);
    const NodeId left = t.op("Mul", {dy, from[1]}, wide, flops);
    const NodeId right = t.op("Mul", {dy, from[0]}, wide, flops);
    return std::vector<NodeId>{summed_to(t, left, t.shape(from[0])),
                               summed_to(t, right, t.shape(from[1]))};
  });
}

NodeId squared_difference(Tape& tape, NodeId a, NodeId b) {
  return binary(tape, "SquaredDifference", a, b, 2, [](Tape& t, NodeId node, NodeId dy) {
    const std::vector<NodeId> from = t.at(node).inputs;
    const Shape wide = t.shape(dy);
    const double flops = count(t, dy);
    const NodeId apart = t.op("Sub", from, wide, flops);
    const NodeId twice = t.op("Mul", {dy}, wide, flops);
    const NodeId left = t.op("Mul", {twice, apart}, wide, flops);
    const NodeId right = summed_to(t, left, t.shape(from[1]));
    return std::vector<NodeId>{summed_to(t, left, t.shape(from[0])),
                               t.op("Neg", {right}, t.shape(from[1]), count(t, right))};
  });
}

NodeId mean_to_channels(Tape& tape, NodeId x) {
  return mean_to(tape, x, {tape.shape(x).back()});
}

NodeId mean_to_images(Tape& tape, NodeId x) {
  return mean_to(tape, x, {tape.shape(x).front(), tape.shape(x).back()});
}

NodeId mean_to_scalar(Tape& tape, NodeId x) {
  return mean_to(tape, x, {});
}

NodeId batch_norm_by_hand(Tape& tape, NodeId x, bool scaled) {
  const Shape channels{tape.shape(x).back()};
  const NodeId mean = mean_to_channels(tape, x);
  // tf.nn.moments stops the gradient at the mean inside the variance.
  const NodeId still = tape.view(mean, channels, false);
  const NodeId variance = mean_to_channels(tape, squared_difference(tape, x, still));
  const NodeId shifted = add(tape, variance, tape.input({}));
  NodeId inverse = unary(tape, "Rsqrt", "RsqrtGrad", shifted, 2);
  if (scaled) {
    inverse = multiply(tape, inverse, tape.variable(channels));
  }
  const NodeId spread = multiply(tape, x, inverse);
  const NodeId moved = multiply(tape, mean, inverse);
  const NodeId offset = subtract(tape, tape.variable(channels), moved);
  for (const NodeId seen : {mean, variance}) {  // the moving averages: x -= (x - seen) * (1 - d)
    const NodeId held = tape.input(channels);
    const double flops = static_cast<double>(elements(channels));
    const NodeId apart = tape.op("Sub", {held, seen}, channels, flops);
    const NodeId part = tape.op("Mul", {apart}, channels, flops);
    tape.fetch(tape.op("AssignSub", {part}, channels, flops));
  }
  return add(tape, spread, offset);
}

NodeId fused_batch_norm(Tape& tape, NodeId x) {
  const Shape channels{tape.shape(x).back()};
  const NodeId gamma = tape.variable(channels);
  const NodeId beta = tape.variable(channels);
  return tape.op("FusedBatchNorm", {x, gamma, beta}, tape.shape(x), 8 * count(tape, x),
                 [](Tape& t, NodeId node, NodeId dy) {
                   const std::vector<NodeId> from = t.at(node).inputs;
                   const NodeId grad = t.op("FusedBatchNormGrad", {dy, from[0], from[1]},
                                            t.shape(node), 11 * count(t, dy));
                   // Further outputs of the same op: the gradients of gamma and beta.
                   const Shape small = t.shape(from[1]);
                   return std::vector<NodeId>{grad, t.view(grad, small), t.view(grad, small)};
                 });
}

NodeId reshape(Tape& tape, NodeId x, const Shape& shape) {
  return tape.op("Reshape", {x}, shape, 0, [](Tape& t, NodeId node, NodeId dy) {
    return std::vector<NodeId>{t.op("Reshape", {dy}, t.shape(t.at(node).inputs[0]), 0)};
  });
}

NodeId concat(Tape& tape, const std::vector<NodeId>& parts) {
  Shape shape = tape.shape(parts.front());
  shape.back() = 0;
  for (const NodeId part : parts) {
    shape.back() += tape.shape(part).back();
  }
  return tape.op("ConcatV2", parts, shape, 0, [](Tape& t, NodeId node, NodeId dy) {
    std::vector<NodeId> slices;
    slices.reserve(t.at(node).inputs.size());
    const std::vector<NodeId> from = t.at(node).inputs;
    for (const NodeId part : from) {
      slices.push_back(t.computed_by(part) != kNothing ? t.op("Slice", {dy}, t.shape(part), 0)
                                                       : kNothing);
    }
    return slices;
  });
}

std::vector<NodeId> split(Tape& tape, NodeId x, int64_t parts) {
  Shape shape = tape.shape(x);
  shape.back() /= parts;
  return parted(tape, "Split", x, shape, parts);
}

std::vector<NodeId> unpack(Tape& tape, NodeId x, int64_t parts) {
  Shape shape = tape.shape(x);
  shape.front() /= parts;
  return parted(tape, "Unpack", x, shape, parts);
}

NodeId sparse_softmax_cross_entropy(Tape& tape, NodeId logits, NodeId labels) {
  const Shape rows{tape.shape(logits)[0]};
  return tape.op("SparseSoftmaxCross", {logits, labels}, rows, 6 * count(tape, logits),
                 [](Tape& t, NodeId node, NodeId dy) {
                   const Shape& shape = t.shape(t.at(node).inputs[0]);
                   const double flops = static_cast<double>(elements(shape));
                   return std::vector<NodeId>{t.op("Mul", {dy, node}, shape, flops)};
                 });
}

NodeId sigmoid_cross_entropy(Tape& tape, NodeId logits) {
  // max(x, 0) - x * z + log(1 + exp(-|x|)), as the framework spells it: small ops on (batch, 1).
  const NodeId labels = tape.input(tape.shape(logits));
  const NodeId positive = relu(tape, logits);
  const NodeId product = multiply(tape, logits, labels);
  const NodeId rest = unary(tape, "Log1p", "Reciprocal",
                            unary(tape, "Exp", "Mul", unary(tape, "Neg", "Neg", logits)));
  return mean_to_scalar(tape, add(tape, subtract(tape, positive, product), rest));
}

NodeId add_weight_decay(Tape& tape, NodeId loss, const std::vector<NodeId>& weights) {
  std::vector<NodeId> terms;
  terms.reserve(weights.size());
  for (const NodeId weight : weights) {
    terms.push_back(tape.op(
        "L2Loss", {weight}, {}, 2 * count(tape, weight), [](Tape& t, NodeId node, NodeId dy) {
          const NodeId from = t.at(node).inputs[0];
          return std::vector<NodeId>{t.op("Mul", {dy, from}, t.shape(from), count(t, from))};
        }));
  }
  const NodeId sum = tape.op("AddN", terms, {}, static_cast<double>(terms.size()),
                             [](Tape& t, NodeId node, NodeId dy) {
                               return std::vector<NodeId>(t.at(node).inputs.size(), dy);
                             });
  return add(tape, loss, multiply(tape, sum, tape.input({})));
}

void apply_gradient(Tape& tape, const std::string& op, NodeId variable, NodeId gradient, int slots,
                    double flops) {
  std::vector<NodeId> inputs{gradient, variable};
  for (int i = 0; i < slots; ++i) {
    inputs.push_back(tape.input(tape.shape(variable)));
    inputs.push_back(inputs.back());  // written as well
  }
  tape.fetch(tape.op(op, inputs, tape.shape(variable), flops * count(tape, variable)));
}

}  // namespace optile::perfmodel::networks
