// The part of a strategy problem that is really to be decided, in the form that the algorithms
// work on: no fixed nodes, no forbidden or dominated strategies, one edge for a pair of nodes.
// What is left out changes neither the optimum nor whether it can be reached.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/result.h"
#include "placement/strategy/cost_scale.h"
#include "placement/strategy/problem.h"
#include "placement/strategy/usage_profile.h"

namespace optile::placement {

// Both ways round, so that a minimum over either side runs along memory.
struct CoreTable {
  std::uint32_t rows = 0;
  std::uint32_t columns = 0;
  std::vector<double> by_row;     // [row * columns + column]
  std::vector<double> by_column;  // [column * rows + row]
};

struct CoreEdge {
  std::uint32_t first = 0;  // the smaller number
  std::uint32_t second = 0;
  std::uint32_t table = 0;
};

struct CoreNeighbour {
  std::uint32_t node = 0;
  std::uint32_t edge = 0;
  bool is_first = false;  // whether the node asked about is the edge's first
};

// Costs are those of the problem in the core's scale.
struct CoreNode {
  std::uint32_t original = 0;
  std::vector<std::uint16_t> strategies;  // the original numbers of those that are left
  std::vector<double> costs;
  std::vector<Usage> usages;  // above the least of this node
  MomentSpan live;
};

struct Core {
  CostScale scale;
  std::vector<CoreNode> nodes;
  std::vector<CoreEdge> edges;
  std::vector<CoreTable> tables;
  std::vector<std::vector<CoreNeighbour>> neighbours;  // ascending by node
  double constant = 0;                                 // what fixed nodes cost
  // At every moment, what is left for the usages of the nodes; no moment where nothing can exceed
  // it. Empty where there is no limit.
  std::vector<Usage> room;
  Usage greatest_usage = 0;  // of any strategy of its nodes
  StrategyChoice fixed;      // strategies of nodes outside; 0 for those inside

  // The choice in the original problem for a choice among the strategies that are left.
  StrategyChoice original_choice(const std::vector<std::uint16_t>& values) const;
  // The minimum of the edge's table over the far side's strategies is taken along this row.
  const double* row(const CoreNeighbour& of, std::uint16_t value) const;
  // What these strategies cost here, the constant with them; kWall or more where one is forbidden.
  double cost(const std::vector<std::uint16_t>& values) const;
};

// Fails where no choice can be feasible: the message says what rules all out.
base::Result<Core> make_core(const StrategyProblem& problem);

}  // namespace optile::placement
