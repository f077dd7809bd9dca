#include "placement/strategy/core.h"

#include <algorithm>
#include <string>
#include <utility>

#include "placement/strategy/core_reduction.h"

namespace optile::placement {

StrategyChoice Core::original_choice(const std::vector<std::uint16_t>& values) const {
  StrategyChoice choice = fixed;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    choice[nodes[i].original] = nodes[i].strategies[values[i]];
  }
  return choice;
}

const double* Core::row(const CoreNeighbour& of, std::uint16_t value) const {
  const CoreTable& table = tables[edges[of.edge].table];
  if (of.is_first) return &table.by_row[std::size_t{value} * table.columns];
  return &table.by_column[std::size_t{value} * table.rows];
}

double Core::cost(const std::vector<std::uint16_t>& values) const {
  double sum = constant;
  for (std::size_t i = 0; i < nodes.size(); ++i) sum += nodes[i].costs[values[i]];
  for (const CoreEdge& edge : edges) {
    const CoreTable& table = tables[edge.table];
    sum += table.by_row[std::size_t{values[edge.first]} * table.columns + values[edge.second]];
  }
  return sum;
}

base::Result<Core> make_core(const StrategyProblem& problem) {
  CoreReduction reduction(problem);
  if (auto status = reduction.run(); !status.ok()) return status.error();
  return reduction.take();
}

}  // namespace optile::placement
