#include "placement/strategy/core_reduction.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <utility>

#include "base/hash.h"

namespace optile::placement {
namespace {

constexpr double kNeverCheaper = -std::numeric_limits<double>::infinity();
constexpr int kMostRounds = 20;

bool forbids(double cost) {
  return cost >= kWall;
}

// The smallest of the tables' differences that dominance asks for: how much less `by` may cost.
double least_difference(const double* dominated, const double* by, std::size_t count,
                        std::size_t stride) {
  double least = std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < count; ++i) {
    const double mine = dominated[i * stride];
    const double other = by[i * stride];
    if (forbids(mine)) continue;
    if (forbids(other)) return kNeverCheaper;
    least = std::min(least, mine - other);
  }
  return least;
}

}  // namespace

CoreReduction::CoreReduction(const StrategyProblem& problem)
    : problem_(problem), scale_(greatest_sum(problem)), moments_(moments_of(problem)) {
  for (std::uint32_t i = 0; i < problem.nodes.size(); ++i) {
    CoreNode node;
    node.original = i;
    node.live = moments_.of_node[i];
    for (std::size_t s = 0; s < problem.nodes[i].costs.size(); ++s) {
      node.strategies.push_back(static_cast<std::uint16_t>(s));
      node.costs.push_back(scale_.scaled(problem.nodes[i].costs[s]));
      node.usages.push_back(problem.nodes[i].usages[s]);
    }
    nodes_.push_back(std::move(node));
  }
  std::vector<std::uint32_t> numbers;
  for (const CostTable& from : problem.tables) {
    Table table{
        static_cast<std::uint32_t>(from.rows), static_cast<std::uint32_t>(from.columns), {}};
    for (Cost cost : from.costs) table.costs.push_back(scale_.scaled(cost));
    numbers.push_back(number_of(std::move(table)));
  }
  std::map<std::uint32_t, std::uint32_t> turned;
  for (const StrategyEdge& edge : problem.edges) {
    const std::uint32_t table = numbers[edge.table];
    if (edge.first < edge.second) {
      edges_.push_back({edge.first, edge.second, table});
      continue;
    }
    auto [it, added] = turned.try_emplace(table, 0);
    if (added) {
      const Table from = tables_[table];
      Table to{from.columns, from.rows, std::vector<double>(from.costs.size())};
      for (std::size_t r = 0; r < from.rows; ++r) {
        for (std::size_t c = 0; c < from.columns; ++c) {
          to.costs[c * from.rows + r] = from.costs[r * from.columns + c];
        }
      }
      it->second = number_of(std::move(to));
    }
    edges_.push_back({edge.second, edge.first, it->second});
  }
}

std::uint32_t CoreReduction::number_of(Table table) {
  std::uint64_t hash = table.rows * 1'000'003ULL + table.columns;
  for (double cost : table.costs) {
    hash = base::hash_word(std::bit_cast<std::uint64_t>(cost), hash);
  }
  const auto [from, to] = by_hash_.equal_range(hash);
  for (auto it = from; it != to; ++it) {
    if (tables_[it->second] == table) return it->second;
  }
  tables_.push_back(std::move(table));
  const auto number = static_cast<std::uint32_t>(tables_.size() - 1);
  by_hash_.emplace(hash, number);
  return number;
}

void CoreReduction::merge_parallel_edges() {
  std::sort(edges_.begin(), edges_.end(), [](const Edge& a, const Edge& b) {
    return std::pair(a.first, a.second) < std::pair(b.first, b.second);
  });
  for (std::size_t i = 0; i + 1 < edges_.size(); ++i) {
    Edge& edge = edges_[i];
    Edge& next = edges_[i + 1];
    if (edge.first != next.first || edge.second != next.second) continue;
    Table sum = tables_[edge.table];
    const Table& other = tables_[next.table];
    for (std::size_t k = 0; k < sum.costs.size(); ++k) {
      sum.costs[k] = std::min(kWall, sum.costs[k] + other.costs[k]);
    }
    edge.gone = true;
    next.table = number_of(std::move(sum));
  }
  std::erase_if(edges_, [](const Edge& edge) { return edge.gone; });
  edges_of_.assign(nodes_.size(), {});
  for (std::uint32_t i = 0; i < edges_.size(); ++i) {
    edges_of_[edges_[i].first].push_back(i);
    edges_of_[edges_[i].second].push_back(i);
  }
}

// A table whose entries are row + column is two node costs; so is one with a single row or column.
void CoreReduction::fold_separable_edges() {
  for (Edge& edge : edges_) {
    const Table& table = tables_[edge.table];
    std::vector<double> rows(table.rows, 0);
    std::vector<double> columns(table.columns, 0);
    if (table.columns == 1) {
      rows = table.costs;
    } else {
      // In a single row, entries may be walls, which must not be subtracted from each other.
      for (std::size_t c = 0; c < table.columns; ++c) columns[c] = table.costs[c];
      for (std::size_t r = 1; r < table.rows; ++r) {
        rows[r] = table.costs[r * table.columns] - table.costs[0];
      }
    }
    bool separable = true;
    for (std::size_t r = 0; separable && r < table.rows; ++r) {
      for (std::size_t c = 0; separable && c < table.columns; ++c) {
        const double cost = table.costs[r * table.columns + c];
        separable = cost == rows[r] + columns[c] &&
                    (!forbids(cost) || table.rows == 1 || table.columns == 1);
      }
    }
    if (separable) fold_edge(edge, rows, columns);
  }
  std::erase_if(edges_, [](const Edge& edge) { return edge.gone; });
}

void CoreReduction::fold_edge(Edge& edge, const std::vector<double>& rows,
                              const std::vector<double>& columns) {
  const auto add = [](CoreNode& node, const std::vector<double>& costs) {
    for (std::size_t i = 0; i < costs.size(); ++i) {
      node.costs[i] = std::min(kWall, node.costs[i] + costs[i]);
    }
  };
  add(nodes_[edge.first], rows);
  add(nodes_[edge.second], columns);
  edge.gone = true;
}

bool CoreReduction::remove_unsupported() {
  std::vector<std::vector<char>> keep(nodes_.size());
  bool changed = false;
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    for (double cost : nodes_[i].costs) keep[i].push_back(forbids(cost) ? 0 : 1);
  }
  for (const Edge& edge : edges_) {
    const Table& table = tables_[edge.table];
    std::vector<char> row(table.rows, 0);
    std::vector<char> column(table.columns, 0);
    for (std::size_t r = 0; r < table.rows; ++r) {
      for (std::size_t c = 0; c < table.columns; ++c) {
        if (forbids(table.costs[r * table.columns + c])) continue;
        row[r] = 1;
        column[c] = 1;
      }
    }
    for (std::size_t r = 0; r < table.rows; ++r) {
      if (row[r] == 0) keep[edge.first][r] = 0;
    }
    for (std::size_t c = 0; c < table.columns; ++c) {
      if (column[c] == 0) keep[edge.second][c] = 0;
    }
  }
  for (const auto& node : keep) changed |= std::count(node.begin(), node.end(), 0) > 0;
  if (changed) {
    why_empty_ = "every strategy of it is forbidden by itself or by a neighbour";
    keep_only(keep);
  }
  return changed;
}

bool CoreReduction::remove_by_memory() {
  if (!problem_.usage_limit) return false;
  UsageProfile least(moments_.count);
  for (const CoreNode& node : nodes_) {
    if (node.usages.empty()) return false;
    least.add(node.live, *std::min_element(node.usages.begin(), node.usages.end()));
  }
  std::vector<std::vector<char>> keep;
  bool changed = false;
  for (const CoreNode& node : nodes_) {
    const Usage mine = *std::min_element(node.usages.begin(), node.usages.end());
    const Total others = least.greatest(node.live) - mine;
    std::vector<char> kept;
    for (Usage usage : node.usages) {
      kept.push_back(node.live.empty() || others + usage <= *problem_.usage_limit ? 1 : 0);
      changed |= kept.back() == 0;
    }
    keep.push_back(std::move(kept));
  }
  if (changed) {
    why_empty_ = "no strategy of it fits in the memory, even when all others use their least";
    keep_only(keep);
  }
  return changed;
}

const CoreReduction::Differences& CoreReduction::differences(std::uint32_t table, bool of_rows) {
  auto [it, added] = differences_.try_emplace({table, of_rows});
  if (!added) return it->second;
  const Table& costs = tables_[table];
  const std::size_t n = of_rows ? costs.rows : costs.columns;
  const std::size_t across = of_rows ? costs.columns : costs.rows;
  const std::size_t step = of_rows ? costs.columns : 1;
  const std::size_t stride = of_rows ? 1 : costs.columns;
  it->second.resize(n * n);
  for (std::size_t a = 0; a < n; ++a) {
    for (std::size_t b = 0; b < n; ++b) {
      it->second[a * n + b] =
          least_difference(&costs.costs[a * step], &costs.costs[b * step], across, stride);
    }
  }
  return it->second;
}

bool CoreReduction::find_dominated(std::uint32_t node, std::vector<char>& keep) {
  const CoreNode& of = nodes_[node];
  const std::size_t n = of.costs.size();
  std::vector<double> gain(n * n, 0);  // [a * n + b]: b is at least this much cheaper than a
  for (std::size_t a = 0; a < n; ++a) {
    for (std::size_t b = 0; b < n; ++b) {
      gain[a * n + b] = of.usages[b] <= of.usages[a] || of.live.empty() ? of.costs[a] - of.costs[b]
                                                                        : kNeverCheaper;
    }
  }
  for (std::uint32_t index : edges_of_[node]) {
    const Edge& edge = edges_[index];
    const Differences& more = differences(edge.table, edge.first == node);
    for (std::size_t k = 0; k < gain.size(); ++k) gain[k] += more[k];
  }
  bool found = false;
  for (std::size_t a = 0; a < n; ++a) {
    for (std::size_t b = 0; b < n && keep[a] != 0; ++b) {
      if (a == b || keep[b] == 0 || !(gain[a * n + b] >= 0)) continue;
      keep[a] = 0;
      found = true;
    }
  }
  return found;
}

// One node of a neighbourhood at a time would be safest; all at once is right too, because a
// strategy is only dropped for another one that stays, and the others' losses only help.
bool CoreReduction::remove_dominated() {
  std::vector<std::vector<char>> keep(nodes_.size());
  bool changed = false;
  for (std::uint32_t i = 0; i < nodes_.size(); ++i) {
    keep[i].assign(nodes_[i].costs.size(), 1);
    if (keep[i].size() > 1) changed |= find_dominated(i, keep[i]);
  }
  if (changed) keep_only(keep);
  return changed;
}

void CoreReduction::keep_only(const std::vector<std::vector<char>>& keep) {
  std::map<std::pair<std::uint32_t, std::pair<std::vector<char>, std::vector<char>>>, std::uint32_t>
      known;
  const auto all = [](const std::vector<char>& kept) {
    return std::find(kept.begin(), kept.end(), 0) == kept.end();
  };
  for (Edge& edge : edges_) {
    const std::vector<char>& rows = keep[edge.first];
    const std::vector<char>& columns = keep[edge.second];
    if (all(rows) && all(columns)) continue;
    auto [it, added] = known.try_emplace({edge.table, {rows, columns}}, 0);
    if (added) {
      const Table& from = tables_[edge.table];
      Table to;
      for (std::size_t r = 0; r < rows.size(); ++r) to.rows += rows[r] != 0 ? 1U : 0U;
      for (std::size_t c = 0; c < columns.size(); ++c) to.columns += columns[c] != 0 ? 1U : 0U;
      for (std::size_t r = 0; r < rows.size(); ++r) {
        for (std::size_t c = 0; c < columns.size(); ++c) {
          if (rows[r] == 0 || columns[c] == 0) continue;
          to.costs.push_back(from.costs[r * columns.size() + c]);
        }
      }
      it->second = number_of(std::move(to));
    }
    edge.table = it->second;
  }
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    CoreNode& node = nodes_[i];
    std::size_t to = 0;
    for (std::size_t from = 0; from < keep[i].size(); ++from) {
      if (keep[i][from] == 0) continue;
      node.strategies[to] = node.strategies[from];
      node.costs[to] = node.costs[from];
      node.usages[to++] = node.usages[from];
    }
    node.strategies.resize(to);
    node.costs.resize(to);
    node.usages.resize(to);
  }
}

base::Status CoreReduction::all_have_strategies() const {
  for (const CoreNode& node : nodes_) {
    if (!node.costs.empty()) continue;
    return base::Error{
        base::ErrorKind::kInvalid,
        "no choice is feasible: node " + std::to_string(node.original) + ": " + why_empty_};
  }
  return {};
}

base::Status CoreReduction::run() {
  for (int round = 0; round < kMostRounds; ++round) {
    merge_parallel_edges();
    bool changed = remove_unsupported();
    if (auto status = all_have_strategies(); !status.ok()) return status;
    changed |= remove_by_memory();
    if (auto status = all_have_strategies(); !status.ok()) return status;
    fold_separable_edges();
    merge_parallel_edges();
    changed |= remove_dominated();
    if (!changed) break;
  }
  fold_separable_edges();
  return {};
}

Core CoreReduction::take() {
  Core core;
  core.scale = scale_;
  core.fixed.assign(nodes_.size(), 0);
  UsageProfile least(moments_.count);
  UsageProfile most(moments_.count);
  std::vector<std::uint32_t> place(nodes_.size(), 0);
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    CoreNode& node = nodes_[i];
    const Usage low = *std::min_element(node.usages.begin(), node.usages.end());
    least.add(node.live, low);
    most.add(node.live, *std::max_element(node.usages.begin(), node.usages.end()));
    for (Usage& usage : node.usages) {
      usage -= low;
      core.greatest_usage = std::max(core.greatest_usage, usage);
    }
    if (node.costs.size() == 1) {
      core.constant += node.costs[0];
      core.fixed[i] = node.strategies[0];
      continue;
    }
    place[i] = static_cast<std::uint32_t>(core.nodes.size());
    core.nodes.push_back(std::move(node));
  }
  std::map<std::uint32_t, std::uint32_t> numbers;
  core.neighbours.resize(core.nodes.size());
  for (const Edge& edge : edges_) {
    auto [it, added] = numbers.try_emplace(edge.table, core.tables.size());
    if (added) {
      const Table& from = tables_[edge.table];
      CoreTable table{from.rows, from.columns, from.costs, from.costs};
      for (std::size_t r = 0; r < from.rows; ++r) {
        for (std::size_t c = 0; c < from.columns; ++c) {
          table.by_column[c * from.rows + r] = from.costs[r * from.columns + c];
        }
      }
      core.tables.push_back(std::move(table));
    }
    const auto number = static_cast<std::uint32_t>(core.edges.size());
    const CoreEdge to{place[edge.first], place[edge.second], it->second};
    core.edges.push_back(to);
    core.neighbours[to.first].push_back({to.second, number, true});
    core.neighbours[to.second].push_back({to.first, number, false});
  }
  for (auto& list : core.neighbours) {
    std::sort(list.begin(), list.end(),
              [](const CoreNeighbour& a, const CoreNeighbour& b) { return a.node < b.node; });
  }
  if (problem_.usage_limit) {
    // Memory was looked at last, so that what all use at least is within the limit.
    for (const Total used : least.values()) {
      core.room.push_back(static_cast<Usage>(*problem_.usage_limit - used));
    }
  }
  return core;
}

}  // namespace optile::placement
