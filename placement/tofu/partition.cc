#include "placement/tofu/partition.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <string>
#include <utility>

#include "placement/tofu/table_sum.h"

namespace optile::placement::tofu {

namespace {

// Where a tensor's class stands among the classes of a node.
std::size_t place_of(const std::vector<int>& classes, int one) {
  return static_cast<std::size_t>(std::lower_bound(classes.begin(), classes.end(), one) -
                                  classes.begin());
}

class Halving {
 public:
  Halving(const OperatorGraph& graph, const std::vector<Shape>& extents)
      : graph_(graph),
        extents_(extents),
        coarse_(coarsened(graph)),
        book_(graph),
        classes_(coarse_.example.size()),
        operators_(graph.operators.size()) {}

  void halve(Partition& result) {
    TableSum problem;
    std::vector<std::vector<int>> ways;  // of each class
    for (std::size_t c = 0; c < classes_.size(); ++c) {
      const Shape& shape = graph_.tensors[static_cast<std::size_t>(coarse_.example[c])].shape;
      std::vector<int> all(shape.size());
      std::iota(all.begin(), all.end(), 0);
      ways.push_back(candidates(all, shape, classes_[c]));
      problem.sizes.push_back(static_cast<int>(ways.back().size()));
    }
    std::vector<Of> of(graph_.operators.size());
    for (const CoarseNode& node : coarse_.nodes) {
      for (const int op : node.operators) of[static_cast<std::size_t>(op)] = costs_of(op, node);
      problem.tables.push_back(table(node, problem.sizes, of));
    }
    const SmallestSum best = smallest_sum(problem);
    for (const CoarseNode& node : coarse_.nodes) {
      std::vector<int> values;
      for (const int one : node.classes) {
        values.push_back(best.values[static_cast<std::size_t>(one)]);
      }
      for (const int op : node.operators) {
        const int way = least(of[static_cast<std::size_t>(op)], values).second;
        operators_[static_cast<std::size_t>(op)].push_back(
            ways_of(static_cast<std::size_t>(op))[static_cast<std::size_t>(way)]);
      }
    }
    for (std::size_t c = 0; c < classes_.size(); ++c) {
      classes_[c].push_back(ways[c][static_cast<std::size_t>(best.values[c])]);
    }
    result.exact = result.exact && best.exact;
    result.by_level.push_back(best.sum * graph_.element_bytes);
    result.bytes_moved = result.by_level.back();
  }

  void finish(Partition& result) const {
    result.coarse_tensors = static_cast<int>(coarse_.example.size());
    result.coarse_nodes = static_cast<int>(coarse_.nodes.size());
    for (std::size_t i = 0; i < graph_.tensors.size(); ++i) {
      const History& history = classes_[static_cast<std::size_t>(coarse_.class_of[i])];
      result.tensors.push_back(history);
      if (!graph_.tensors[i].parameter) continue;
      double bytes = graph_.element_bytes;
      for (const std::int64_t extent : graph_.tensors[i].shape) {
        bytes *= static_cast<double>(extent);
      }
      for (const int way : history) bytes /= way < 0 ? 1 : 2;
      result.parameter_bytes_per_worker += bytes;
    }
    for (std::size_t i = 0; i < graph_.operators.size(); ++i) {
      // An element-wise operator is split as its output.
      result.operators.push_back(
          coarse_.same_as[i] < 0
              ? result.tensors[static_cast<std::size_t>(graph_.operators[i].output)]
              : operators_[static_cast<std::size_t>(coarse_.same_as[i])]);
    }
  }

 private:
  // What an operator costs, and which of its node's classes each of its tensors is in.
  struct Of {
    const OperatorCosts* costs = nullptr;
    std::vector<std::size_t> places;
  };

  std::vector<int> ways_of(std::size_t op) const {
    const Operator& description =
        graph_.descriptions[static_cast<std::size_t>(graph_.operators[op].description)];
    return candidates(splits_of(description), extents_[op], operators_[op]);
  }

  Of costs_of(int position, const CoarseNode& node) {
    const GraphOperator& op = graph_.operators[static_cast<std::size_t>(position)];
    std::vector<int> tensors = op.inputs;
    tensors.push_back(op.output);
    std::vector<const History*> histories{&operators_[static_cast<std::size_t>(position)]};
    Of of;
    for (const int tensor : tensors) {
      const int one = coarse_.class_of[static_cast<std::size_t>(tensor)];
      histories.push_back(&classes_[static_cast<std::size_t>(one)]);
      of.places.push_back(place_of(node.classes, one));
    }
    of.costs = &book_.of(op, extents_[static_cast<std::size_t>(position)], histories);
    return of;
  }

  // Of the ways to halve the operator the cheapest, where its tensors are halved by `values`.
  static std::pair<double, int> least(const Of& of, const std::vector<int>& values) {
    std::pair<double, int> best{std::numeric_limits<double>::infinity(), 0};
    for (std::size_t way = 0; way < of.costs->size(); ++way) {
      double cost = 0;
      for (std::size_t i = 0; i < of.places.size(); ++i) {
        cost += (*of.costs)[way][i][static_cast<std::size_t>(values[of.places[i]])];
      }
      if (cost < best.first) best = {cost, static_cast<int>(way)};
    }
    return best;
  }

  static Table table(const CoarseNode& node, const std::vector<int>& sizes,
                     const std::vector<Of>& of) {
    Table made{node.classes, {}};
    std::vector<int> values(node.classes.size());
    for (bool more = true; more;) {
      double cost = 0;
      for (std::size_t i = 0; i < node.operators.size(); ++i) {
        cost +=
            node.counts[i] * least(of[static_cast<std::size_t>(node.operators[i])], values).first;
      }
      made.values.push_back(cost);
      more = false;
      for (std::size_t i = values.size(); i-- > 0 && !more;) {
        more = ++values[i] < sizes[static_cast<std::size_t>(node.classes[i])];
        if (!more) values[i] = 0;
      }
    }
    return made;
  }

  const OperatorGraph& graph_;
  const std::vector<Shape>& extents_;
  CoarseGraph coarse_;
  CostBook book_;
  std::vector<History> classes_;
  std::vector<History> operators_;  // of the first of those that are the same
};

}  // namespace

base::Result<Partition> partition(const OperatorGraph& graph, int workers) {
  if (workers < 1 || workers > kMaxWorkers || (workers & (workers - 1)) != 0) {
    return base::Error{base::ErrorKind::kInvalid,
                       std::to_string(workers) +
                           " workers: Tofu halves, so that it takes 1, 2, 4 "
                           "and so on up to " +
                           std::to_string(kMaxWorkers)};
  }
  const auto extents = checked_extents(graph);
  if (!extents.ok()) return extents.error();
  Partition result;
  result.workers = workers;
  Halving halving(graph, extents.value());
  for (int count = 2; count <= workers; count *= 2) halving.halve(result);
  halving.finish(result);
  return result;
}

double data_parallel_bytes(const OperatorGraph& graph, int workers) {
  return 2.0 * (workers - 1) * parameter_bytes(graph);
}

}  // namespace optile::placement::tofu
