// Writes operator graphs down: tensors, and operators by their descriptions. For models that we
// generate; a mistake in one is a bug of ours. One thread.
#pragma once

#include <initializer_list>
#include <map>
#include <string>

#include "placement/tofu/operator_graph.h"

namespace optile::placement::tofu {

class GraphBuilder {
 public:
  int input(const std::string& name, Shape shape) { return tensor(name, std::move(shape)); }
  int parameter(const std::string& name, Shape shape);
  // What the operator makes; `text` is its description, in which only its inputs' names are free.
  int apply(const std::string& text, const std::string& name, Shape shape,
            std::initializer_list<int> inputs);
  // The same as the gradient of a tensor, whose shape it has.
  int gradient(const std::string& text, int of, std::initializer_list<int> inputs);
  // One gradient more of a tensor that several operators read; -1 is none yet.
  int sum(int one, int other);
  // Momentum and step of a parameter by its gradient.
  void update(int parameter, int gradient);

  // Tensors that are made from now on are at this place of an unrolled step; equal places fold.
  void at_place(const std::string& place) { place_ = place; }
  void at_no_place() { place_.clear(); }

  const Shape& shape(int tensor) const {
    return graph_.tensors[static_cast<std::size_t>(tensor)].shape;
  }
  OperatorGraph finish() { return std::move(graph_); }

 private:
  int tensor(const std::string& name, Shape shape);
  int description(const std::string& text);

  OperatorGraph graph_;
  std::map<std::string, int> descriptions_;
  std::string place_;
  std::map<std::string, int> folds_;
};

}  // namespace optile::placement::tofu
