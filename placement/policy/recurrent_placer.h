// The placer of the policies rnn and hdp (spec 2): an LSTM reads the groups, another one gives them
// devices in the same order, looking back at all that was read. Of one thread.
#pragma once

#include <string>
#include <vector>

#include "placement/policy/tape.h"
#include "placement/random.h"

namespace optile::placement::policy {

// What a placer decided: the device of each row, and the logarithms of the probabilities (one row
// each) that it chose by.
struct Decoded {
  std::vector<int> devices;
  std::vector<Tape::Var> logs;
};

class RecurrentPlacer {
 public:
  // Adds its parameters, for rows of so many features.
  RecurrentPlacer(Parameters& parameters, int features, int devices, Random& random);

  // `inputs` has a row for each group, `mask` what is added to its devices' scores. Draws devices
  // if `random` is given, else takes the likeliest.
  void decode(Tape& tape, Tape::Var inputs, const Matrix& mask, Random* random, Decoded& decoded);

  // Sets the gradients of what was decoded: of the devices' advantage and, at `price`, of the
  // entropy, each a `share`-th of the batch. The caller runs the tape backward.
  void set_gradients(Tape& tape, const Decoded& decoded, double advantage, double price,
                     double share);

 private:
  struct Cell {
    int input = 0;  // weights; the bias follows them
    int state = 0;
  };
  struct State {
    Tape::Var output, memory;
  };
  static Cell add_cell(Parameters& parameters, const std::string& name, int inputs, Random& random);
  // `input` is already multiplied by the cell's weights.
  State next(Tape& tape, const Cell& cell, Tape::Var input, const State& before) const;

  int devices_;
  Cell reader_, writer_;
  int attention_ = 0;
  int output_ = 0;
  Matrix row_, gradient_;
};

}  // namespace optile::placement::policy
