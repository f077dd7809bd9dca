#include "placement/strategy/problem.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "base/hash.h"
#include "base/result.h"

namespace optile::placement {
namespace {

using base::invalid;

std::string named(const char* kind, std::size_t index) {
  return kind + std::to_string(index);
}

// The greatest cost that is no prohibition; 0 where all are.
Cost greatest_allowed(const std::vector<Cost>& costs) {
  Cost greatest = 0;
  for (Cost cost : costs) {
    if (cost < kForbidden) greatest = std::max(greatest, cost);
  }
  return greatest;
}

bool any_negative(const std::vector<std::int64_t>& values) {
  return std::any_of(values.begin(), values.end(), [](std::int64_t value) { return value < 0; });
}

base::Status check_node(const StrategyNode& node, const std::string& name) {
  if (node.costs.empty()) return invalid(name + " has no strategy");
  if (node.costs.size() > std::numeric_limits<std::uint16_t>::max()) {
    return invalid(name + " has more strategies than 65535");
  }
  if (node.usages.size() != node.costs.size()) {
    return invalid(name + " has " + std::to_string(node.costs.size()) + " costs and " +
                   std::to_string(node.usages.size()) + " usages");
  }
  if (any_negative(node.costs)) return invalid(name + " has a negative cost");
  if (any_negative(node.usages)) return invalid(name + " has a negative usage");
  if (node.live.begin < 0 || node.live.end < node.live.begin) {
    return invalid(name + " ends before it begins");
  }
  return {};
}

base::Status check_edge(const StrategyProblem& problem, std::size_t index) {
  const StrategyEdge& edge = problem.edges[index];
  const std::string name = named("edge ", index);
  const std::size_t count = problem.nodes.size();
  if (edge.first >= count || edge.second >= count) {
    return invalid(name + " names a node that is not there");
  }
  if (edge.first == edge.second) return invalid(name + " joins a node with itself");
  if (edge.table >= problem.tables.size()) return invalid(name + " has no costs");
  const CostTable& table = problem.tables[edge.table];
  if (table.rows != problem.nodes[edge.first].costs.size() ||
      table.columns != problem.nodes[edge.second].costs.size()) {
    return invalid(name + " has costs that do not fit the strategies of its nodes");
  }
  return {};
}

}  // namespace

std::uint32_t TableStore::number_of(CostTable table, std::vector<CostTable>& tables) {
  std::uint64_t hash = table.rows * 1'000'003 + table.columns;
  for (Cost cost : table.costs) {
    hash = base::hash_word(static_cast<std::uint64_t>(cost), hash);
  }
  const auto [from, to] = by_hash_.equal_range(hash);
  for (auto it = from; it != to; ++it) {
    const CostTable& known = tables[it->second];
    if (known.rows == table.rows && known.costs == table.costs) return it->second;
  }
  const auto number = static_cast<std::uint32_t>(tables.size());
  tables.push_back(std::move(table));
  by_hash_.emplace(hash, number);
  return number;
}

base::Status check(const StrategyProblem& problem) {
  for (std::size_t i = 0; i < problem.nodes.size(); ++i) {
    const StrategyNode& node = problem.nodes[i];
    if (auto status = check_node(node, named("node ", i)); !status.ok()) return status;
  }
  for (const CostTable& table : problem.tables) {
    if (table.costs.size() != table.rows * table.columns) return invalid("a table is not full");
    if (any_negative(table.costs)) return invalid("a cost of an edge is negative");
  }
  for (std::size_t i = 0; i < problem.edges.size(); ++i) {
    if (auto status = check_edge(problem, i); !status.ok()) return status;
  }
  if (problem.usage_limit && *problem.usage_limit < 0)
    return invalid("the usage limit is negative");
  return {};
}

Total greatest_sum(const StrategyProblem& problem) {
  Total sum = 0;
  for (const StrategyNode& node : problem.nodes) sum += greatest_allowed(node.costs);
  std::vector<Cost> of_table;
  for (const CostTable& table : problem.tables) of_table.push_back(greatest_allowed(table.costs));
  for (const StrategyEdge& edge : problem.edges) sum += of_table[edge.table];
  return sum;
}

}  // namespace optile::placement
