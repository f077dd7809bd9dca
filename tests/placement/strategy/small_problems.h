// Small random strategy problems and the second, naive implementations that the tests compare with.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <random>
#include <utility>
#include <vector>

#include "placement/strategy/problem.h"
#include "placement/strategy/solver.h"

namespace optile::placement::testing {

struct Shape {
  std::uint32_t nodes = 7;
  std::uint32_t edges = 9;
  std::uint32_t most_strategies = 3;
  std::int64_t times = 6;
  bool forbid = true;
  double limit = 0;  // between everybody's least use and their greatest; 0: none
  Cost costs = 40;   // all costs that do not forbid are below, and all usages
  Usage usages = 20;
};

inline Cost random_cost(std::mt19937_64& random, const Shape& shape, bool forbid) {
  if (forbid && random() % 9 == 0) return kForbidden;
  return static_cast<Cost>(random() % static_cast<std::uint64_t>(shape.costs));
}

// The use at a time, straight from the definition.
inline Total use_at(const StrategyProblem& problem, const StrategyChoice& choice,
                    std::int64_t time) {
  Total sum = 0;
  for (std::size_t i = 0; i < problem.nodes.size(); ++i) {
    const StrategyNode& node = problem.nodes[i];
    if (node.live.begin <= time && time < node.live.end) sum += node.usages[choice[i]];
  }
  return sum;
}

inline Total naive_peak(const StrategyProblem& problem, const StrategyChoice& choice) {
  Total peak = 0;
  for (const StrategyNode& node : problem.nodes) {
    for (std::int64_t time = node.live.begin; time < node.live.end; ++time) {
      peak = std::max(peak, use_at(problem, choice, time));
    }
  }
  return peak;
}

// The cost by the definition of E3; nullopt where anything is forbidden or memory is short.
inline std::optional<Total> naive_cost(const StrategyProblem& problem,
                                       const StrategyChoice& choice) {
  Total sum = 0;
  for (std::size_t i = 0; i < problem.nodes.size(); ++i) {
    const Cost cost = problem.nodes[i].costs[choice[i]];
    if (cost >= kForbidden) return std::nullopt;
    sum += cost;
  }
  for (const StrategyEdge& edge : problem.edges) {
    const CostTable& table = problem.tables[edge.table];
    const Cost cost = table.costs[choice[edge.first] * table.columns + choice[edge.second]];
    if (cost >= kForbidden) return std::nullopt;
    sum += cost;
  }
  if (problem.usage_limit && naive_peak(problem, choice) > *problem.usage_limit) {
    return std::nullopt;
  }
  return sum;
}

inline StrategyProblem random_problem(const Shape& shape, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  StrategyProblem problem;
  for (std::uint32_t i = 0; i < shape.nodes; ++i) {
    StrategyNode node;
    node.live.begin = static_cast<std::int64_t>(random()) & 0xff;
    node.live.begin %= shape.times;
    node.live.end = node.live.begin + static_cast<std::int64_t>(random() % 4);
    const std::size_t count = 1 + random() % shape.most_strategies;
    for (std::size_t s = 0; s < count; ++s) {
      node.costs.push_back(random_cost(random, shape, shape.forbid && s > 0));
      node.usages.push_back(
          static_cast<Usage>(random() % static_cast<std::uint64_t>(shape.usages)));
    }
    problem.nodes.push_back(node);
  }
  TableStore store;
  for (std::uint32_t i = 0; i < shape.edges; ++i) {
    const auto first = static_cast<std::uint32_t>(random() % shape.nodes);
    const auto second = static_cast<std::uint32_t>(random() % shape.nodes);
    if (first == second) continue;
    CostTable table{problem.nodes[first].costs.size(), problem.nodes[second].costs.size(), {}};
    for (std::size_t k = 0; k < table.rows * table.columns; ++k) {
      table.costs.push_back(random_cost(random, shape, shape.forbid && k > 0));
    }
    const std::uint32_t number = store.number_of(std::move(table), problem.tables);
    problem.edges.push_back({first, second, number});
  }
  if (shape.limit > 0) {
    StrategyChoice least;
    StrategyChoice most;
    for (const StrategyNode& node : problem.nodes) {
      const auto [low, high] = std::minmax_element(node.usages.begin(), node.usages.end());
      least.push_back(static_cast<std::uint16_t>(low - node.usages.begin()));
      most.push_back(static_cast<std::uint16_t>(high - node.usages.begin()));
    }
    const auto low = static_cast<double>(naive_peak(problem, least));
    const auto high = static_cast<double>(naive_peak(problem, most));
    problem.usage_limit = static_cast<Usage>(low + shape.limit * (high - low));
  }
  return problem;
}

// The least cost over all choices; nullopt where none is feasible.
inline std::optional<Total> brute_force(const StrategyProblem& problem) {
  StrategyChoice choice(problem.nodes.size(), 0);
  std::optional<Total> best;
  for (;;) {
    const std::optional<Total> cost = naive_cost(problem, choice);
    if (cost && (!best || *cost < *best)) best = cost;
    std::size_t i = 0;
    while (i < choice.size() && ++choice[i] == problem.nodes[i].costs.size()) choice[i++] = 0;
    if (i == choice.size()) return best;
  }
}

// The solver's answer, which is feasible where there is an optimum and only there.
inline std::optional<Answer> solve_small(const StrategyProblem& problem,
                                         std::optional<Total> optimum, std::uint64_t seed) {
  Budget budget({.evaluations = 300});
  const auto answer = solve_strategy(problem, {.seed = seed}, budget);
  const bool feasible = answer.ok() && answer.value().feasible;
  EXPECT_EQ(feasible, optimum.has_value()) << "seed " << seed << ": " << answer.message();
  if (!feasible || !optimum) return std::nullopt;
  return answer.value();
}

}  // namespace optile::placement::testing
