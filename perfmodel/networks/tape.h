// A training step's graph as a framework builds it: forward ops are recorded in order, `gradients`
// appends their backward ops in reverse, sums where a tensor has several consumers, as automatic
// differentiation does in every framework. Costs come from shapes. One thread, no I/O.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace optile::perfmodel::networks {

using Shape = std::vector<int64_t>;
int64_t elements(const Shape& shape);  // 1 for a scalar

enum class Phase : uint8_t { kForward, kBackward, kUpdate };

using NodeId = int;
inline constexpr NodeId kNothing = -1;
inline constexpr double kElementBytes = 4;  // all four networks train in single precision

struct Node {
  std::string op;              // the framework's name: "Conv2D"; empty: no work of its own
  std::vector<NodeId> inputs;  // tensors and control dependencies alike
  Shape shape;                 // of its (first) output
  double flops = 0;            // multiplications and additions count one each
  double bytes = 0;            // read and written once each, 4 bytes an element
  Phase phase = Phase::kForward;
  NodeId mirrors = kNothing;  // of a backward op: the forward op it differentiates
  bool gathers = false;       // its outputs' gradients are concatenated, not summed
  bool fetched = false;       // the step is run for its sake
};

class Tape {
 public:
  // Gradient of a node: given the node and the gradient of its output, the gradients of its inputs
  // in order; kNothing where an input has none.
  using Gradient = std::function<std::vector<NodeId>(Tape&, NodeId node, NodeId dy)>;

  NodeId variable(const Shape& shape);  // trained: gradients() may end here
  NodeId input(const Shape& shape);     // data: no gradient
  // A part of what `of` computes, or all of it under another name; no work. Without `flows` no
  // gradient passes.
  NodeId view(NodeId of, const Shape& shape, bool flows = true);

  // Bytes are the inputs' and the output's. Without `gradient` nothing flows back.
  NodeId op(const std::string& name, std::vector<NodeId> inputs, const Shape& shape, double flops,
            Gradient gradient = nullptr);

  // Backward ops from `loss` to those of `variables` that it depends on: variable -> gradient.
  std::map<NodeId, NodeId> gradients(NodeId loss, const std::vector<NodeId>& variables);

  // What is recorded from here on belongs to this phase.
  void set_phase(Phase phase) { phase_ = phase; }
  // The step is run for this op's sake; what no such op needs is not run (wanted()).
  void fetch(NodeId id) { nodes_[static_cast<size_t>(id)].fetched = true; }
  void gather(NodeId id) { nodes_[static_cast<size_t>(id)].gathers = true; }
  // Calls with the same variables: readers of drop[i] read keep[i] from now on.
  void tie(const std::vector<NodeId>& keep, const std::vector<NodeId>& drop);
  // One run of a session ends: an op that waits for all that was fetched since the last barrier;
  // later ops that would wait for nothing wait for it.
  void barrier();

  const Node& at(NodeId id) const { return nodes_[static_cast<size_t>(id)]; }
  const Shape& shape(NodeId id) const { return at(id).shape; }
  const std::vector<Node>& nodes() const { return nodes_; }
  const std::vector<NodeId>& variables() const { return variables_; }
  bool is_op(NodeId id) const { return !at(id).op.empty(); }
  // The op behind a view; kNothing behind a variable or an input.
  NodeId computed_by(NodeId id) const;
  std::vector<bool> wanted() const;  // by node: it or a reader of it was fetched

 private:
  NodeId joined(NodeId id, const std::vector<NodeId>& terms);
  std::vector<bool> reached_from(const std::vector<NodeId>& variables) const;

  std::vector<Node> nodes_;
  std::vector<Gradient> gradients_;  // by node
  std::vector<NodeId> variables_;
  Phase phase_ = Phase::kForward;
  NodeId mirrored_ = kNothing;
  NodeId barrier_ = kNothing;
};

}  // namespace optile::perfmodel::networks
