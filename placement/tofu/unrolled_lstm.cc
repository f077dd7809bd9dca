#include <string>
#include <vector>

#include "placement/tofu/graph_builder.h"
#include "placement/tofu/networks.h"

namespace optile::placement::tofu {

namespace {

// Gates: 0 in, 1 forget, 2 new, 3 out.
constexpr const char* kGates = "gates(x, w)[n, g, j] = Sum(i: x[n, i] * w[i, g, j])";
constexpr const char* kJoin = "join(p, q, b)[n, g, j] = p[n, g, j] + q[n, g, j] + b[g, j]";
constexpr const char* kCell =
    "cell(z, c)[n, j] ="
    " sigmoid(z[n, 1, j]) * c[n, j] + sigmoid(z[n, 0, j]) * tanh(z[n, 2, j])";
constexpr const char* kOut = "out(z, c)[n, j] = sigmoid(z[n, 3, j]) * tanh(c[n, j])";
constexpr const char* kLstmLoss = "loss_gradient(h, t)[n, j] = h[n, j] - t[n, j]";
constexpr const char* kCellGradient =
    "cell_gradient(h, z, c)[n, j] ="
    " h[n, j] * sigmoid(z[n, 3, j]) * (1 - tanh(c[n, j]) * tanh(c[n, j]))";
constexpr const char* kPastGradient = "past_gradient(dc, z)[n, j] = dc[n, j] * sigmoid(z[n, 1, j])";
constexpr const char* kGateGradient =
    "gate_gradient(dh, dc, z, c, p)[n, g, j] ="
    " sigmoid(z[n, g, j]) * (1 - sigmoid(z[n, g, j])) *"
    " (equal(g, 0) * dc[n, j] * tanh(z[n, 2, j]) + equal(g, 1) * dc[n, j] * p[n, j] +"
    " equal(g, 3) * dh[n, j] * tanh(c[n, j])) +"
    " equal(g, 2) * dc[n, j] * sigmoid(z[n, 0, j]) *"
    " (1 - tanh(z[n, 2, j]) * tanh(z[n, 2, j]))";
constexpr const char* kDataGradient = "gates_data(z, w)[n, i] = Sum(g, j: z[n, g, j] * w[i, g, j])";
constexpr const char* kWeightGradient =
    "gates_weights(x, z)[i, g, j] = Sum(n: x[n, i] * z[n, g, j])";
constexpr const char* kShiftGradient = "gates_shift(z)[g, j] = Sum(n: z[n, g, j])";

class LstmNetwork {
 public:
  explicit LstmNetwork(const UnrolledLstm& of) : of_(of) {}

  OperatorGraph build() {
    for (int layer = 0; layer < of_.layers; ++layer) open(layer);
    std::vector<int> x;
    for (int t = 0; t < of_.steps; ++t) {
      b_.at_place("input");
      x.push_back(b_.input("word", {of_.batch, of_.hidden}));
    }
    for (int layer = 0; layer < of_.layers; ++layer) x = forward(layer, x);
    b_.at_place("loss");
    std::vector<int> g;
    for (const int h : x) {
      const int truth = b_.input("truth", {of_.batch, of_.hidden});
      g.push_back(b_.gradient(kLstmLoss, h, {h, truth}));
    }
    for (int layer = of_.layers; layer-- > 0;) g = backward(layer, g);
    return b_.finish();
  }

 private:
  struct Layer {
    int data_weights = 0;
    int past_weights = 0;
    int shift = 0;
    int first_cell = 0;
    int first_out = 0;
    std::vector<int> inputs;
    std::vector<int> gates;
    std::vector<int> cells;
    std::vector<int> outs;
  };

  Layer& layer(int of) { return layers_[static_cast<std::size_t>(of)]; }
  static std::string named(int layer, const std::string& what) {
    return "layer " + std::to_string(layer) + " " + what;
  }

  void open(int of) {
    const Shape square{of_.hidden, 4, of_.hidden};
    layers_.emplace_back();
    Layer& made = layers_.back();
    b_.at_no_place();
    made.data_weights = b_.parameter(named(of, "data weights"), square);
    made.past_weights = b_.parameter(named(of, "past weights"), square);
    made.shift = b_.parameter(named(of, "shift"), {4, of_.hidden});
    // The state before the first step is at the same place as those after it.
    b_.at_place(named(of, "forward"));
    made.first_cell = b_.input("cell", {of_.batch, of_.hidden});
    made.first_out = b_.input("out", {of_.batch, of_.hidden});
  }

  std::vector<int> forward(int of, const std::vector<int>& inputs) {
    Layer& own = layer(of);
    own.inputs = inputs;
    const Shape gates{of_.batch, 4, of_.hidden};
    const Shape state{of_.batch, of_.hidden};
    int cell = own.first_cell;
    int out = own.first_out;
    b_.at_place(named(of, "forward"));
    for (const int x : inputs) {
      const int data = b_.apply(kGates, "data gates", gates, {x, own.data_weights});
      const int past = b_.apply(kGates, "past gates", gates, {out, own.past_weights});
      own.gates.push_back(b_.apply(kJoin, "gates", gates, {data, past, own.shift}));
      cell = b_.apply(kCell, "cell", state, {own.gates.back(), cell});
      out = b_.apply(kOut, "out", state, {own.gates.back(), cell});
      own.cells.push_back(cell);
      own.outs.push_back(out);
    }
    return own.outs;
  }

  // From the gradients of the layer's outputs those of its inputs.
  std::vector<int> backward(int of, const std::vector<int>& above) {
    Layer& own = layer(of);
    std::vector<int> below(above.size(), -1);
    int next_out = -1;
    int next_cell = -1;
    int data_weights = -1;
    int past_weights = -1;
    int shift = -1;
    b_.at_place(named(of, "backward"));
    for (std::size_t t = above.size(); t-- > 0;) {
      const int z = own.gates[t];
      const int c = own.cells[t];
      const int past = t > 0 ? own.cells[t - 1] : own.first_cell;
      const int past_out = t > 0 ? own.outs[t - 1] : own.first_out;
      const int dh = next_out < 0 ? above[t] : b_.sum(above[t], next_out);
      const int dc = b_.sum(next_cell, b_.gradient(kCellGradient, c, {dh, z, c}));
      const int dz = b_.gradient(kGateGradient, z, {dh, dc, z, c, past});
      below[t] = b_.gradient(kDataGradient, own.inputs[t], {dz, own.data_weights});
      if (t > 0) {
        next_cell = b_.gradient(kPastGradient, past, {dc, z});
        next_out = b_.gradient(kDataGradient, past_out, {dz, own.past_weights});
      }
      data_weights =
          b_.sum(data_weights, b_.gradient(kWeightGradient, own.data_weights, {own.inputs[t], dz}));
      past_weights =
          b_.sum(past_weights, b_.gradient(kWeightGradient, own.past_weights, {past_out, dz}));
      shift = b_.sum(shift, b_.gradient(kShiftGradient, own.shift, {dz}));
    }
    b_.at_no_place();
    b_.update(own.data_weights, data_weights);
    b_.update(own.past_weights, past_weights);
    b_.update(own.shift, shift);
    return below;
  }

  UnrolledLstm of_;
  GraphBuilder b_;
  std::vector<Layer> layers_;
};

}  // namespace

OperatorGraph unrolled_lstm(const UnrolledLstm& of) {
  return LstmNetwork(of).build();
}

}  // namespace optile::placement::tofu
