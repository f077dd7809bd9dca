#include "perfmodel/networks/training.h"

#include <map>

#include "perfmodel/networks/ops.h"

namespace optile::perfmodel::networks {

namespace {

// As tf.clip_by_global_norm: the norm needs every gradient, so it ends the backward pass.
void clip(Tape& tape, std::map<NodeId, NodeId>& gradients) {
  std::vector<NodeId> norms;
  for (const auto& [variable, gradient] : gradients) {
    const double flops = 2 * static_cast<double>(elements(tape.shape(gradient)));
    norms.push_back(tape.op("L2Loss", {gradient}, {}, flops));
  }
  const NodeId sum = tape.op("AddN", norms, {}, static_cast<double>(norms.size()));
  const NodeId factor = tape.op("Sqrt", {sum}, {}, 1);
  for (auto& [variable, gradient] : gradients) {
    const Shape shape = tape.shape(gradient);
    gradient = tape.op("Mul", {gradient, factor}, shape, static_cast<double>(elements(shape)));
  }
}

}  // namespace

void train(Tape& tape, NodeId loss, const std::vector<NodeId>& variables,
           const Optimizer& optimizer) {
  tape.fetch(loss);
  std::map<NodeId, NodeId> gradients = tape.gradients(loss, variables);
  tape.set_phase(Phase::kUpdate);
  if (optimizer.clip_norm > 0) {
    clip(tape, gradients);
  }
  for (const auto& [variable, gradient] : gradients) {
    if (elements(tape.shape(gradient)) != elements(tape.shape(variable))) {
      // Rows that were looked up: only they are written.
      tape.fetch(tape.op("ScatterSub", {gradient}, tape.shape(gradient),
                         static_cast<double>(elements(tape.shape(gradient)))));
      continue;
    }
    apply_gradient(tape, optimizer.op, variable, gradient, optimizer.slots, optimizer.flops);
  }
  tape.set_phase(Phase::kForward);
}

}  // namespace optile::perfmodel::networks
