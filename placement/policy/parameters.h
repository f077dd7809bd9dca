// What a policy learns: matrices by name, their gradients, and Adam's steps (Kingma and Ba,
// algorithm 1). Of one thread.
#pragma once

#include <string>
#include <vector>

#include "placement/policy/matrix.h"
#include "placement/random.h"

namespace optile::placement::policy {

class Parameters {
 public:
  struct One {
    std::string name;
    Matrix value, gradient, mean, square;
  };

  // Uniform within +-sqrt(6 / (rows + columns)) (Glorot and Bengio, equation 16). Returns its
  // index.
  int add_weights(std::string name, int rows, int columns, Random& random);
  // All of one value.
  int add_constant(std::string name, int rows, int columns, double value);

  std::vector<One>& all() { return all_; }
  const std::vector<One>& all() const { return all_; }
  One& at(int index) { return all_[static_cast<std::size_t>(index)]; }

  // One step against the gradients, which are shortened to `longest` taken together and zero
  // after it. Gradients that are not finite change nothing.
  void step(double rate, double longest);

 private:
  std::vector<One> all_;
  int steps_ = 0;
};

}  // namespace optile::placement::policy
