// A strategy problem (objective E3): each node takes one of its strategies; the sum of the costs of
// nodes and edges is to be small, within a limit on the memory of nodes that live at the same time.
// Source: OptCNN eq. 1; the form of the IOPDDL problems of ASPLOS 2025.
// Values, no threads of their own; whoever holds one may read it from any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "placement/strategy/total.h"

namespace optile::placement {

using Cost = std::int64_t;
using Usage = std::int64_t;

// From here on a cost forbids its choice; so do the problems that IOPDDL publishes. Sums of costs
// and of usages may have more than 64 bits: see total.h.
inline constexpr Cost kForbidden = 1'000'000'000'000'000'000;

// Time in steps of the problem, half open; empty where it never holds memory.
struct LiveInterval {
  std::int64_t begin = 0;
  std::int64_t end = 0;
};

struct StrategyNode {
  LiveInterval live;
  std::vector<Cost> costs;    // one for each strategy; never empty
  std::vector<Usage> usages;  // as many
};

// What a pair of strategies costs, row by row: rows are the first node's strategies.
struct CostTable {
  std::size_t rows = 0;
  std::size_t columns = 0;
  std::vector<Cost> costs;

  Cost at(std::size_t row, std::size_t column) const { return costs[row * columns + column]; }
};

struct StrategyEdge {
  std::uint32_t first = 0;
  std::uint32_t second = 0;
  std::uint32_t table = 0;  // of StrategyProblem::tables
};

// Strategy of every node, by its index.
using StrategyChoice = std::vector<std::uint16_t>;

struct StrategyProblem {
  std::string name;
  std::vector<StrategyNode> nodes;
  std::vector<StrategyEdge> edges;
  std::vector<CostTable> tables;  // edges of repeated layers share one
  std::optional<Usage> usage_limit;
};

// Gives equal tables one number. Used while a problem is built.
class TableStore {
 public:
  // The number of this table in `tables`, which grows where it is new.
  std::uint32_t number_of(CostTable table, std::vector<CostTable>& tables);

 private:
  std::unordered_multimap<std::uint64_t, std::uint32_t> by_hash_;
};

// Whether the problem is sound: shapes agree, nothing is negative, a strategy number fits. The
// message names the node or edge.
base::Status check(const StrategyProblem& problem);

// What a choice costs at most: the sum of the greatest costs that do not forbid.
Total greatest_sum(const StrategyProblem& problem);

}  // namespace optile::placement
