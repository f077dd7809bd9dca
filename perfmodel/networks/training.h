// What every training step has: an optimiser and the graph's ends. Used by the four networks.
#pragma once

#include <string>
#include <vector>

#include "perfmodel/networks/tape.h"

namespace optile::perfmodel::networks {

struct Optimizer {
  std::string op;        // "ApplyMomentum"
  int slots = 0;         // further tensors of a variable's size that it reads and writes
  double flops = 0;      // for each element
  double clip_norm = 0;  // > 0: gradients are scaled by their global norm first
};

// Appends backward ops and updates of `variables` for `loss`.
void train(Tape& tape, NodeId loss, const std::vector<NodeId>& variables,
           const Optimizer& optimizer);

}  // namespace optile::perfmodel::networks
