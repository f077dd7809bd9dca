// A model as operators on tensors, with the backward pass and the updates written out. Pure values.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "placement/tofu/operator.h"
#include "placement/tofu/regions.h"

namespace optile::placement::tofu {

struct GraphTensor {
  std::string name;
  Shape shape;
  bool parameter = false;  // one copy of it stays from step to step
  int gradient_of = -1;    // the tensor whose gradient this is: split as that one
  // Tensors of one fold stand at the same place of different unrolled steps: split alike.
  int fold = -1;
};

struct GraphOperator {
  int description = 0;  // position in OperatorGraph::descriptions
  std::vector<int> inputs;
  int output = 0;
};

struct OperatorGraph {
  int element_bytes = 4;
  std::vector<Operator> descriptions;
  std::vector<GraphTensor> tensors;
  std::vector<GraphOperator> operators;  // each after those that make its inputs
};

// What an operator and the tensors of a graph say of each other: the extents of its indices.
// kInvalid names the operator by its position and description.
base::Result<std::vector<Shape>> checked_extents(const OperatorGraph& graph);

// Bytes of the parameters; a replica of the model has all of them.
double parameter_bytes(const OperatorGraph& graph);

}  // namespace optile::placement::tofu
