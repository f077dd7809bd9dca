// Reduces a strategy problem to its core, until nothing changes any more:
// - strategies that are forbidden by themselves, by every strategy of a neighbour, or by memory
//   even when everybody else uses the least they can;
// - strategies that another one of the node dominates: never dearer whatever the neighbours do,
//   and never using more;
// - nodes with one strategy left, edges that are a sum of two node costs, parallel edges.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "placement/strategy/core.h"
#include "placement/strategy/problem.h"

namespace optile::placement {

class CoreReduction {
 public:
  explicit CoreReduction(const StrategyProblem& problem);

  base::Status run();
  Core take();  // after run()

 private:
  struct Table {
    std::uint32_t rows = 0;
    std::uint32_t columns = 0;
    std::vector<double> costs;
    bool operator==(const Table&) const = default;
  };
  struct Edge {
    std::uint32_t first, second, table;
    bool gone = false;
  };
  using Differences = std::vector<double>;  // [dominated * n + dominating]

  std::uint32_t number_of(Table table);
  void merge_parallel_edges();
  void fold_separable_edges();
  void fold_edge(Edge& edge, const std::vector<double>& rows, const std::vector<double>& columns);
  bool remove_unsupported();
  bool remove_by_memory();
  bool remove_dominated();
  bool find_dominated(std::uint32_t node, std::vector<char>& keep);
  const Differences& differences(std::uint32_t table, bool of_rows);
  // Keeps the marked strategies of every node and rewrites the tables around them.
  void keep_only(const std::vector<std::vector<char>>& keep);
  base::Status all_have_strategies() const;

  const StrategyProblem& problem_;
  CostScale scale_;
  Moments moments_;
  std::vector<CoreNode> nodes_;  // one for each of the problem
  std::vector<Edge> edges_;
  std::vector<Table> tables_;
  std::unordered_multimap<std::uint64_t, std::uint32_t> by_hash_;
  std::map<std::pair<std::uint32_t, bool>, Differences> differences_;
  std::vector<std::vector<std::uint32_t>> edges_of_;
  std::string why_empty_;
};

}  // namespace optile::placement
