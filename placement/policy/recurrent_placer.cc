#include "placement/policy/recurrent_placer.h"

#include <cmath>

#include "placement/policy/learning.h"

namespace optile::placement::policy {
namespace {

constexpr int kCellWidth = 32;  // of a cell's state

}  // namespace

RecurrentPlacer::Cell RecurrentPlacer::add_cell(Parameters& parameters, const std::string& name,
                                                int inputs, Random& random) {
  Cell cell;
  cell.input = parameters.add_weights(name + ".input", inputs, 4 * kCellWidth, random);
  const int bias = parameters.add_constant(name + ".bias", 1, 4 * kCellWidth, 0);
  parameters.at(bias).value.middleCols(kCellWidth, kCellWidth).setOnes();  // remember at first
  cell.state = parameters.add_weights(name + ".state", kCellWidth, 4 * kCellWidth, random);
  return cell;
}

RecurrentPlacer::RecurrentPlacer(Parameters& parameters, int features, int devices, Random& random)
    : devices_(devices),
      reader_(add_cell(parameters, "reader", features, random)),
      writer_(add_cell(parameters, "writer", kCellWidth + devices, random)) {
  attention_ = parameters.add_weights("attention", kCellWidth, kCellWidth, random);
  output_ = parameters.add_weights("output.weights", 2 * kCellWidth, devices, random);
  parameters.add_constant("output.bias", 1, devices, 0);
}

RecurrentPlacer::State RecurrentPlacer::next(Tape& tape, const Cell& cell, Tape::Var input,
                                             const State& before) const {
  const Tape::Var gates = tape.sum(input, tape.product(before.output, tape.parameter(cell.state)));
  const Tape::Var open = tape.sigmoid(tape.columns(gates, 0, kCellWidth));
  const Tape::Var keep = tape.sigmoid(tape.columns(gates, kCellWidth, kCellWidth));
  const Tape::Var fresh = tape.tanh(tape.columns(gates, 2 * kCellWidth, kCellWidth));
  const Tape::Var show = tape.sigmoid(tape.columns(gates, 3 * kCellWidth, kCellWidth));
  const Tape::Var memory = tape.sum(tape.times(keep, before.memory), tape.times(open, fresh));
  return {tape.times(show, tape.tanh(memory)), memory};
}

void RecurrentPlacer::decode(Tape& tape, Tape::Var inputs, const Matrix& mask, Random* random,
                             Decoded& decoded) {
  decoded.devices.clear();
  decoded.logs.clear();
  row_.setZero(1, kCellWidth);
  State state{tape.constant(row_), tape.constant(row_)};
  const Tape::Var scaled = tape.linear(inputs, reader_.input, reader_.input + 1);
  const auto count = static_cast<int>(mask.rows());
  Tape::Var read = -1;
  for (int i = 0; i < count; ++i) {
    state = next(tape, reader_, tape.row(scaled, i), state);
    read = i == 0 ? state.output : tape.above(read, state.output);
  }
  const Tape::Var keys = tape.scaled(tape.product(read, tape.parameter(attention_)),
                                     1 / std::sqrt(static_cast<double>(kCellWidth)));
  row_.setZero(1, devices_);  // the device before the first: none
  for (int i = 0; i < count; ++i) {
    const Tape::Var input = tape.beside(tape.row(read, i), tape.constant(row_));
    state = next(tape, writer_, tape.linear(input, writer_.input, writer_.input + 1), state);
    const Tape::Var weights = tape.softmax(tape.product_transposed(state.output, keys));
    const Tape::Var seen = tape.beside(state.output, tape.product(weights, read));
    row_ = mask.row(i);
    const Tape::Var scores = tape.sum(tape.linear(seen, output_, output_ + 1), tape.constant(row_));
    const Tape::Var logs = tape.log_softmax(scores);
    const int device = random != nullptr ? drawn_from(tape.value(logs), 0, *random)
                                         : likeliest_of(tape.value(logs), 0);
    decoded.devices.push_back(device);
    decoded.logs.push_back(logs);
    row_.setZero(1, devices_);
    row_(0, device) = 1;
  }
}

void RecurrentPlacer::set_gradients(Tape& tape, const Decoded& decoded, double advantage,
                                    double price, double share) {
  for (std::size_t i = 0; i < decoded.logs.size(); ++i) {
    const Matrix& logs = tape.value(decoded.logs[i]);
    gradient_.setZero(1, logs.cols());
    add_policy_gradient(logs, 0, decoded.devices[i], advantage, price, gradient_);
    gradient_ /= share;
    tape.set_gradient(decoded.logs[i], gradient_);
  }
}

}  // namespace optile::placement::policy
