// The graph that dynamic programming runs on (Tofu, graph coarsening): tensors that are split alike
// are one class, and operators on the same classes one node.
#pragma once

#include <vector>

#include "placement/tofu/operator_graph.h"

namespace optile::placement::tofu {

struct CoarseNode {
  std::vector<int> classes;    // of the tensors that its operators touch, ascending
  std::vector<int> operators;  // one for each that differs: first of those that are the same
  std::vector<int> counts;     // how many each stands for: unrolled steps
};

struct CoarseGraph {
  // Of each tensor. A tensor and its gradient, those that an element-wise operator ties together
  // and those of one fold have one class; a class has one shape.
  std::vector<int> class_of;
  std::vector<int> example;  // of each class, one of its tensors
  // Forward operators with their backward ones, because gradients are where their tensors are.
  std::vector<CoarseNode> nodes;
  // Of each operator the first that is the same: it reads and writes the same classes by the same
  // description, so that both are split alike. Element-wise operators have -1: they move nothing.
  std::vector<int> same_as;
};

CoarseGraph coarsened(const OperatorGraph& graph);

}  // namespace optile::placement::tofu
