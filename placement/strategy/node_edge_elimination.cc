#include "placement/strategy/node_edge_elimination.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

namespace optile::placement {
namespace {

constexpr double kMostChoices = 1 << 24;
constexpr Total kMostInDoubles = Total{1} << 53;

// What forbids; more than any sum of costs, and small enough that millions of it can be added.
template <typename Number>
constexpr Number kInfinite = Total{1} << 90;
template <>
constexpr double kInfinite<double> = std::numeric_limits<double>::infinity();

// Exact: Number is double where no sum is 2^53 or more, and Total elsewhere.
template <typename Number>
class NodeEdgeElimination {
 public:
  NodeEdgeElimination(const StrategyProblem& problem, Budget& budget)
      : budget_(budget), edges_of_(problem.nodes.size()), gone_(problem.nodes.size(), false) {
    for (const StrategyNode& node : problem.nodes) {
      costs_.emplace_back();
      for (const Cost cost : node.costs) costs_.back().push_back(number_of(cost));
    }
    for (const StrategyEdge& edge : problem.edges) {
      std::vector<Number> costs;
      for (const Cost cost : problem.tables[edge.table].costs) costs.push_back(number_of(cost));
      add_edge(edge.first, edge.second, std::move(costs));
    }
  }

  base::Result<EliminationOutcome> run() {
    for (std::uint32_t node = 0; node < costs_.size(); ++node) waiting_.push_back(node);
    while (!waiting_.empty()) {
      if (budget_.spent_now()) return out_of_time();
      const std::uint32_t node = waiting_.back();
      waiting_.pop_back();
      if (!gone_[node] && edges_of_[node].size() == 2) eliminate(node);
    }
    return enumerate();
  }

 private:
  // Rows are the first node's strategies.
  struct Edge {
    std::uint32_t first;
    std::uint32_t second;
    std::vector<Number> costs;
  };
  // Both tables as they were: rows of `before` are of the node before, those of `after` of the
  // eliminated one.
  struct Step {
    std::uint32_t node;
    std::uint32_t node_before;
    std::uint32_t node_after;
    std::vector<Number> before;
    std::vector<Number> after;
  };

  static Number number_of(Cost cost) {
    return cost >= kForbidden ? kInfinite<Number> : static_cast<Number>(cost);
  }

  static base::Error out_of_time() {
    return {base::ErrorKind::kUnavailable, "the time was over before the elimination had ended"};
  }

  std::size_t strategies(std::uint32_t node) const { return costs_[node].size(); }

  // The table with `first` as its rows.
  std::vector<Number> turned(const Edge& edge, std::uint32_t first) const {
    if (edge.first == first) return edge.costs;
    const std::size_t rows = strategies(first);
    const std::size_t columns = strategies(edge.first);
    std::vector<Number> costs(edge.costs.size());
    for (std::size_t row = 0; row < rows; ++row) {
      for (std::size_t column = 0; column < columns; ++column) {
        costs[row * columns + column] = edge.costs[column * rows + row];
      }
    }
    return costs;
  }

  // Equation 3 where the two are neighbours already.
  void add_edge(std::uint32_t first, std::uint32_t second, std::vector<Number> costs) {
    for (const std::uint32_t at : edges_of_[first]) {
      Edge& edge = edges_[at];
      if (edge.first != second && edge.second != second) continue;
      const std::vector<Number> other = turned({first, second, std::move(costs)}, edge.first);
      for (std::size_t i = 0; i < other.size(); ++i) {
        edge.costs[i] = std::min(kInfinite<Number>, edge.costs[i] + other[i]);
      }
      return;
    }
    const auto number = static_cast<std::uint32_t>(edges_.size());
    edges_.push_back({first, second, std::move(costs)});
    edges_of_[first].push_back(number);
    edges_of_[second].push_back(number);
  }

  std::uint32_t detach(std::uint32_t edge, std::uint32_t from) {
    const std::uint32_t other =
        edges_[edge].first == from ? edges_[edge].second : edges_[edge].first;
    std::vector<std::uint32_t>& edges = edges_of_[other];
    edges.erase(std::find(edges.begin(), edges.end(), edge));
    return other;
  }

  // Equation 2.
  void eliminate(std::uint32_t node) {
    const std::uint32_t in = edges_of_[node][0];
    const std::uint32_t out = edges_of_[node][1];
    Step step{node, detach(in, node), detach(out, node), {}, {}};
    step.before = turned(edges_[in], step.node_before);
    step.after = turned(edges_[out], node);
    const std::size_t own = strategies(node);
    const std::size_t columns = strategies(step.node_after);
    std::vector<Number> made(strategies(step.node_before) * columns, kInfinite<Number>);
    for (std::size_t row = 0; row < strategies(step.node_before); ++row) {
      Number* const least = made.data() + row * columns;
      for (std::size_t s = 0; s < own; ++s) {
        const Number so_far = costs_[node][s] + step.before[row * own + s];
        const Number* const after = step.after.data() + s * columns;
        for (std::size_t column = 0; column < columns; ++column) {
          least[column] = std::min(least[column], so_far + after[column]);
        }
      }
    }
    edges_of_[node].clear();
    edges_[in].costs.clear();
    edges_[out].costs.clear();
    gone_[node] = true;
    add_edge(step.node_before, step.node_after, std::move(made));
    waiting_.push_back(step.node_before);
    waiting_.push_back(step.node_after);
    steps_.push_back(std::move(step));
  }

  base::Result<EliminationOutcome> enumerate() {
    double choices = 1;
    for (std::uint32_t node = 0; node < costs_.size(); ++node) {
      if (gone_[node]) continue;
      remaining_.push_back(node);
      choices *= static_cast<double>(strategies(node));
    }
    if (choices > kMostChoices) {
      return base::Error{
          base::ErrorKind::kInvalid,
          "optcnn does not solve this problem: " + std::to_string(remaining_.size()) +
              " nodes remain with too many choices; use the method auto"};
    }
    choice_.assign(costs_.size(), 0);
    extend(0, 0);
    if (out_of_time_) return out_of_time();
    if (best_.empty()) return base::Error{base::ErrorKind::kInvalid, "no choice is feasible"};
    undo();
    return EliminationOutcome{best_, remaining_.size()};
  }

  // Depth first over the nodes that remain.
  void extend(std::size_t depth, Number cost) {
    if (cost >= least_ || out_of_time_) return;
    if (depth == remaining_.size()) {
      least_ = cost;
      best_ = choice_;
      return;
    }
    if (budget_.spent()) out_of_time_ = true;
    const std::uint32_t node = remaining_[depth];
    for (std::size_t s = 0; s < strategies(node); ++s) {
      choice_[node] = static_cast<std::uint16_t>(s);
      extend(depth + 1, cost + costs_[node][s] + to_earlier(node));
    }
  }

  // Edges from this node to remaining ones with smaller numbers, which have chosen.
  Number to_earlier(std::uint32_t node) const {
    Number cost = 0;
    for (const std::uint32_t at : edges_of_[node]) {
      const Edge& edge = edges_[at];
      if (std::max(edge.first, edge.second) != node) continue;
      cost += edge.costs[choice_[edge.first] * strategies(edge.second) + choice_[edge.second]];
    }
    return cost;
  }

  void undo() {
    for (auto step = steps_.rbegin(); step != steps_.rend(); ++step) {
      const std::size_t own = strategies(step->node);
      const std::size_t columns = strategies(step->node_after);
      const Number* const before = step->before.data() + best_[step->node_before] * own;
      Number least = kInfinite<Number>;
      for (std::size_t s = 0; s < own; ++s) {
        const Number cost =
            costs_[step->node][s] + before[s] + step->after[s * columns + best_[step->node_after]];
        if (cost >= least) continue;
        least = cost;
        best_[step->node] = static_cast<std::uint16_t>(s);
      }
    }
  }

  Budget& budget_;
  std::vector<std::vector<Number>> costs_;
  std::vector<Edge> edges_;
  std::vector<std::vector<std::uint32_t>> edges_of_;  // those that are left, two ends each
  std::vector<bool> gone_;
  std::vector<std::uint32_t> waiting_;
  std::vector<Step> steps_;
  std::vector<std::uint32_t> remaining_;  // ascending
  StrategyChoice choice_;
  StrategyChoice best_;
  Number least_ = kInfinite<Number>;
  bool out_of_time_ = false;
};

}  // namespace

base::Result<EliminationOutcome> eliminate_nodes_and_edges(const StrategyProblem& problem,
                                                           Budget& budget) {
  if (problem.usage_limit) {
    return base::Error{base::ErrorKind::kInvalid,
                       "optcnn knows no limit on memory, and this problem has one; use the method "
                       "auto"};
  }
  if (greatest_sum(problem) < kMostInDoubles) {
    return NodeEdgeElimination<double>(problem, budget).run();
  }
  return NodeEdgeElimination<Total>(problem, budget).run();
}

}  // namespace optile::placement
