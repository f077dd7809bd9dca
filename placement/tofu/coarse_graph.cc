#include "placement/tofu/coarse_graph.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

namespace optile::placement::tofu {

namespace {

class Classes {
 public:
  explicit Classes(const OperatorGraph& graph) : graph_(graph), parent_(graph.tensors.size()) {
    std::iota(parent_.begin(), parent_.end(), 0);
  }

  void join(int one, int other) {
    const auto a = static_cast<std::size_t>(one);
    const auto b = static_cast<std::size_t>(other);
    if (graph_.tensors[a].shape != graph_.tensors[b].shape) return;
    parent_[static_cast<std::size_t>(root(one))] = root(other);
  }

  int root(int tensor) {
    auto at = static_cast<std::size_t>(tensor);
    while (parent_[at] != static_cast<int>(at)) {
      parent_[at] = parent_[static_cast<std::size_t>(parent_[at])];
      at = static_cast<std::size_t>(parent_[at]);
    }
    return static_cast<int>(at);
  }

 private:
  const OperatorGraph& graph_;
  std::vector<int> parent_;
};

void join_tensors(const OperatorGraph& graph, Classes& classes) {
  std::map<int, int> folds;
  for (std::size_t i = 0; i < graph.tensors.size(); ++i) {
    const GraphTensor& tensor = graph.tensors[i];
    const int own = static_cast<int>(i);
    if (tensor.gradient_of >= 0) classes.join(own, tensor.gradient_of);
    if (tensor.fold >= 0) classes.join(own, folds.emplace(tensor.fold, own).first->second);
  }
}

void add_nodes(const OperatorGraph& graph, const std::vector<bool>& wise, CoarseGraph& coarse) {
  std::map<std::vector<int>, int> known;
  std::map<std::vector<int>, std::size_t> nodes;
  std::map<int, std::size_t> place;  // of an operator in its node
  for (std::size_t i = 0; i < graph.operators.size(); ++i) {
    const GraphOperator& op = graph.operators[i];
    coarse.same_as.push_back(-1);
    if (wise[static_cast<std::size_t>(op.description)]) continue;
    std::vector<int> key{op.description};
    for (const int input : op.inputs) {
      key.push_back(coarse.class_of[static_cast<std::size_t>(input)]);
    }
    key.push_back(coarse.class_of[static_cast<std::size_t>(op.output)]);
    const int first = known.try_emplace(key, static_cast<int>(i)).first->second;
    coarse.same_as.back() = first;
    std::vector<int> classes(key.begin() + 1, key.end());
    std::sort(classes.begin(), classes.end());
    classes.erase(std::unique(classes.begin(), classes.end()), classes.end());
    const auto [found, added] = nodes.try_emplace(classes, coarse.nodes.size());
    if (added) coarse.nodes.push_back({classes, {}, {}});
    CoarseNode& node = coarse.nodes[found->second];
    if (first == static_cast<int>(i)) {
      place[first] = node.operators.size();
      node.operators.push_back(first);
      node.counts.push_back(0);
    }
    ++node.counts[place[first]];
  }
}

}  // namespace

CoarseGraph coarsened(const OperatorGraph& graph) {
  Classes classes(graph);
  join_tensors(graph, classes);
  std::vector<bool> wise;
  for (const Operator& op : graph.descriptions) wise.push_back(element_wise(op));
  for (const GraphOperator& op : graph.operators) {
    if (!wise[static_cast<std::size_t>(op.description)]) continue;
    for (const int input : op.inputs) classes.join(input, op.output);
  }
  CoarseGraph coarse;
  std::map<int, int> numbers;
  for (int i = 0; i < static_cast<int>(graph.tensors.size()); ++i) {
    const int root = classes.root(i);
    const auto number = numbers.try_emplace(root, static_cast<int>(numbers.size())).first->second;
    if (number == static_cast<int>(coarse.example.size())) coarse.example.push_back(root);
    coarse.class_of.push_back(number);
  }
  add_nodes(graph, wise, coarse);
  return coarse;
}

}  // namespace optile::placement::tofu
