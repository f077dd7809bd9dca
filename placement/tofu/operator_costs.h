// Bytes that one operator makes workers exchange, for every way to halve it and its tensors once
// more. They are counted from where everything lies in the end: a worker fetches what its part
// reads and it does not hold, and hands on what it makes and another holds. One thread.
#pragma once

#include <map>
#include <vector>

#include "placement/tofu/operator_graph.h"

namespace optile::placement::tofu {

// Along which index (of an operator) or dimension (of a tensor) it was halved, level by level; -1
// where no extent was even and both halves of the workers have the same.
using History = std::vector<int>;

// What could be halved next.
std::vector<int> candidates(const std::vector<int>& among, const Shape& extents,
                            const History& history);

// [way to halve the operator][input, or last the output][dimension to halve that tensor along]
using OperatorCosts = std::vector<std::vector<std::vector<double>>>;

class CostBook {
 public:
  explicit CostBook(const OperatorGraph& graph) : graph_(graph) {}

  // `histories`: of the operator, then of its inputs, then of its output; all of one length. In
  // elements. Repeated parts of a model ask the same again and are answered from memory.
  const OperatorCosts& of(const GraphOperator& op, const Shape& extents,
                          const std::vector<const History*>& histories);

 private:
  struct Worker {
    std::vector<Box> reads;
    Box output;
  };
  const std::vector<Read>& reads(int description, const Pieces& pieces);
  std::vector<Worker> workers(const GraphOperator& op, const Shape& extents,
                              const History& history);
  OperatorCosts computed(const GraphOperator& op, const Shape& extents,
                         const std::vector<const History*>& histories);

  const OperatorGraph& graph_;
  std::map<std::vector<std::int64_t>, OperatorCosts> known_;
  std::map<std::vector<std::int64_t>, std::vector<Read>> reads_;
};

}  // namespace optile::placement::tofu
