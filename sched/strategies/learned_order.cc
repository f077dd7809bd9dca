#include "sched/strategies/learned_order.h"

#include <algorithm>

#include "base/at.h"

namespace optile::sched {

using base::at;

LearnedOrder::LearnedOrder(std::size_t nodes) : inputs_(nodes), ended_(nodes, 0) {
  order_.reserve(nodes);
}

void LearnedOrder::begin_step() {
  order_.clear();
  ++step_;
  latest_ = -1;
}

bool LearnedOrder::has_ended(int node) const {
  return ended_[at(node)] == step_;
}

void LearnedOrder::on_ready(int node) {
  order_.push_back(node);
  for (Input& input : inputs_[at(node)]) {
    if (input.node >= 0 && !has_ended(input.node)) input = {};
  }
  if (latest_ >= 0) add_input(node, latest_);
}

// The one that was seldom the last makes place.
void LearnedOrder::add_input(int node, int input) {
  Inputs& inputs = inputs_[at(node)];
  const auto known = std::find_if(inputs.begin(), inputs.end(),
                                  [input](const Input& one) { return one.node == input; });
  if (known != inputs.end()) {
    ++known->steps;
    return;
  }
  *std::min_element(inputs.begin(), inputs.end(),
                    [](const Input& a, const Input& b) { return a.steps < b.steps; }) = {input, 1};
}

void LearnedOrder::on_finished(int node) {
  ended_[at(node)] = step_;
  latest_ = node;
}

// Whoever became ready later has no way back: inputs had ended before.
std::vector<double> LearnedOrder::urgency(const std::vector<double>& seconds) const {
  std::vector<double> urgency = seconds;
  for (auto node = order_.rbegin(); node != order_.rend(); ++node) {
    for (const Input& input : inputs_[at(*node)]) {
      if (input.node < 0) continue;
      double& before = urgency[at(input.node)];
      before = std::max(before, seconds[at(input.node)] + urgency[at(*node)]);
    }
  }
  return urgency;
}

std::vector<int> LearnedOrder::inputs(int node) const {
  std::vector<int> found;
  for (const Input& input : inputs_[at(node)]) {
    if (input.node >= 0) found.push_back(input.node);
  }
  return found;
}

}  // namespace optile::sched
