#include "perfmodel/networks/tape.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace optile::perfmodel::networks {

int64_t elements(const Shape& shape) {
  return std::accumulate(shape.begin(), shape.end(), int64_t{1}, std::multiplies<>());
}

NodeId Tape::variable(const Shape& shape) {
  const NodeId id = input(shape);
  variables_.push_back(id);
  return id;
}

NodeId Tape::input(const Shape& shape) {
  Node node;
  node.shape = shape;
  nodes_.push_back(std::move(node));
  gradients_.emplace_back();
  return static_cast<NodeId>(nodes_.size()) - 1;
}

NodeId Tape::view(NodeId of, const Shape& shape, bool flows) {
  const NodeId id = input(shape);
  nodes_.back().inputs = {of};
  if (flows) {
    gradients_.back() = [](Tape&, NodeId, NodeId dy) { return std::vector<NodeId>{dy}; };
  }
  return id;
}

NodeId Tape::computed_by(NodeId id) const {
  while (!is_op(id)) {
    if (at(id).inputs.empty()) {
      return kNothing;
    }
    id = at(id).inputs.front();
  }
  return id;
}

std::vector<bool> Tape::wanted() const {
  std::vector<bool> wanted(nodes_.size(), false);
  for (size_t id = nodes_.size(); id-- > 0;) {
    wanted[id] = wanted[id] || nodes_[id].fetched;
    for (const NodeId from : wanted[id] ? nodes_[id].inputs : std::vector<NodeId>{}) {
      wanted[static_cast<size_t>(from)] = true;
    }
  }
  return wanted;
}

NodeId Tape::op(const std::string& name, std::vector<NodeId> inputs, const Shape& shape,
                double flops, Gradient gradient) {
  Node node;
  node.op = name;
  node.shape = shape;
  node.flops = flops;
  node.phase = phase_;
  node.mirrors = mirrored_;
  node.bytes = kElementBytes * static_cast<double>(elements(shape));
  bool waits = false;
  for (const NodeId from : inputs) {
    node.bytes += kElementBytes * static_cast<double>(elements(at(from).shape));
    waits = waits || computed_by(from) != kNothing;
  }
  if (!waits && barrier_ != kNothing) {
    inputs.push_back(barrier_);
  }
  node.inputs = std::move(inputs);
  nodes_.push_back(std::move(node));
  gradients_.push_back(std::move(gradient));
  return static_cast<NodeId>(nodes_.size()) - 1;
}

void Tape::tie(const std::vector<NodeId>& keep, const std::vector<NodeId>& drop) {
  for (size_t i = 0; i < keep.size(); ++i) {
    for (Node& node : nodes_) {
      std::replace(node.inputs.begin(), node.inputs.end(), drop[i], keep[i]);
    }
    variables_.erase(std::remove(variables_.begin(), variables_.end(), drop[i]), variables_.end());
  }
}

void Tape::barrier() {
  std::vector<NodeId> ends;
  for (NodeId id = std::max(barrier_, 0); id < static_cast<NodeId>(nodes_.size()); ++id) {
    if (at(id).fetched && id != barrier_) {
      ends.push_back(id);
    }
  }
  barrier_ = op("NoOp", ends, {}, 0);
  nodes_.back().bytes = 0;  // it waits and reads nothing
  fetch(barrier_);
}

// Which nodes depend on one of the variables: only through them does a gradient flow.
std::vector<bool> Tape::reached_from(const std::vector<NodeId>& variables) const {
  std::vector<bool> reached(nodes_.size(), false);
  for (const NodeId id : variables) {
    reached[static_cast<size_t>(id)] = true;
  }
  for (size_t id = 0; id < nodes_.size(); ++id) {
    for (const NodeId from : nodes_[id].inputs) {
      reached[id] = reached[id] || reached[static_cast<size_t>(from)];
    }
  }
  return reached;
}

// The gradient of a node from those that its readers pass back.
NodeId Tape::joined(NodeId id, const std::vector<NodeId>& terms) {
  const Shape whole = shape(id);
  if (at(id).gathers) {
    return op("ConcatV2", terms, whole, 0);
  }
  const double adds = static_cast<double>(elements(whole)) * static_cast<double>(terms.size() - 1);
  return terms.size() == 1 ? terms.front() : op("AddN", terms, whole, adds);
}

std::map<NodeId, NodeId> Tape::gradients(NodeId loss, const std::vector<NodeId>& variables) {
  const std::vector<bool> reached = reached_from(variables);
  const Phase before = std::exchange(phase_, Phase::kBackward);
  std::map<NodeId, std::vector<NodeId>> parts;
  parts[loss] = {op("Fill", {}, shape(loss), 0)};
  std::map<NodeId, NodeId> sums;
  for (NodeId id = loss; id >= 0; --id) {
    const auto found = parts.find(id);
    if (found == parts.end() || !reached[static_cast<size_t>(id)]) {
      continue;
    }
    mirrored_ = is_op(id) ? id : kNothing;
    const std::vector<NodeId> terms = found->second;
    const NodeId dy = joined(id, terms);
    sums[id] = dy;
    const Gradient gradient = gradients_[static_cast<size_t>(id)];
    if (!gradient) {
      continue;
    }
    const std::vector<NodeId> inputs = at(id).inputs;
    const std::vector<NodeId> flows = gradient(*this, id, dy);
    for (size_t i = 0; i < std::min(flows.size(), inputs.size()); ++i) {
      if (flows[i] != kNothing && reached[static_cast<size_t>(inputs[i])]) {
        parts[inputs[i]].push_back(flows[i]);
      }
    }
  }
  mirrored_ = kNothing;
  phase_ = before;
  std::map<NodeId, NodeId> found;
  for (const NodeId id : variables) {
    if (const auto sum = sums.find(id); sum != sums.end()) {
      found[id] = sum->second;
    }
  }
  return found;
}

}  // namespace optile::perfmodel::networks
