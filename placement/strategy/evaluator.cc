#include "placement/strategy/evaluator.h"

#include <cstddef>
#include <utility>

namespace optile::placement {

StrategyState::StrategyState(const StrategyProblem& problem, StrategyChoice choice)
    : problem_(problem),
      moments_(moments_of(problem)),
      choice_(std::move(choice)),
      begin_(problem.nodes.size() + 1, 0),
      incidences_(2 * problem.edges.size()),
      profile_(moments_.count) {
  for (const StrategyEdge& edge : problem.edges) {
    ++begin_[edge.first + 1];
    ++begin_[edge.second + 1];
  }
  for (std::size_t i = 1; i < begin_.size(); ++i) begin_[i] += begin_[i - 1];
  std::vector<std::uint32_t> next(begin_.begin(), begin_.end() - 1);
  for (std::uint32_t i = 0; i < problem.edges.size(); ++i) {
    const StrategyEdge& edge = problem.edges[i];
    incidences_[next[edge.first]++] = {i, true};
    incidences_[next[edge.second]++] = {i, false};
    count(problem.tables[edge.table].at(choice_[edge.first], choice_[edge.second]), 1);
  }
  for (std::size_t i = 0; i < problem.nodes.size(); ++i) {
    count(problem.nodes[i].costs[choice_[i]], 1);
    profile_.add(moments_.of_node[i], problem.nodes[i].usages[choice_[i]]);
  }
}

void StrategyState::count(Cost cost, int sign) {
  if (cost >= kForbidden) {
    forbidden_ += sign;
  } else {
    cost_ += Total{cost} * sign;
  }
}

bool StrategyState::within_limit() const {
  return !problem_.usage_limit || peak() <= *problem_.usage_limit;
}

Cost StrategyState::part(const Incidence& incidence, std::uint16_t strategy) const {
  const StrategyEdge& edge = problem_.edges[incidence.edge];
  const CostTable& table = problem_.tables[edge.table];
  return incidence.is_first ? table.at(strategy, choice_[edge.second])
                            : table.at(choice_[edge.first], strategy);
}

StrategyDelta StrategyState::delta(std::uint32_t node, std::uint16_t strategy) const {
  StrategyDelta delta;
  const auto change = [&delta](Cost from, Cost to) {
    if (from >= kForbidden) {
      --delta.forbidden;
    } else {
      delta.cost -= from;
    }
    if (to >= kForbidden) {
      ++delta.forbidden;
    } else {
      delta.cost += to;
    }
  };
  const StrategyNode& of = problem_.nodes[node];
  const std::uint16_t now = choice_[node];
  change(of.costs[now], of.costs[strategy]);
  for (std::uint32_t i = begin_[node]; i < begin_[node + 1]; ++i) {
    change(part(incidences_[i], now), part(incidences_[i], strategy));
  }
  return delta;
}

void StrategyState::move(std::uint32_t node, std::uint16_t strategy) {
  const StrategyDelta change = delta(node, strategy);
  const std::vector<Usage>& usages = problem_.nodes[node].usages;
  profile_.add(moments_.of_node[node], usages[strategy] - usages[choice_[node]]);
  cost_ += change.cost;
  forbidden_ += change.forbidden;
  choice_[node] = strategy;
}

}  // namespace optile::placement
