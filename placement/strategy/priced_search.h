// Searches for cheap choices within the memory limit: elimination over the whole core or a window
// of it, with memory priced; prices rise where a choice exceeds the limit and fall where it does
// not. Every candidate is evaluated on the problem itself.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <random>
#include <utility>
#include <vector>

#include "placement/budget.h"
#include "placement/strategy/core.h"
#include "placement/strategy/elimination.h"
#include "placement/strategy/evaluator.h"
#include "placement/strategy/memory_prices.h"
#include "placement/strategy/memory_shares.h"

namespace optile::placement {

class PricedSearch {
 public:
  using Values = std::vector<std::uint16_t>;

  // `start` is any choice among the core's strategies. Problem and core must outlive it.
  PricedSearch(const StrategyProblem& problem, const Core& core, Values start,
               std::vector<double> prices, std::uint64_t seed);

  // Of every node its strategies, the most promising first. Half of the windows then look at a few
  // of them only, which lets their tables hold more nodes.
  void rank(std::vector<std::vector<std::uint16_t>> ranked) { ranked_ = std::move(ranked); }

  // Improves the whole core once at the present prices, then moves the prices.
  void pass(Budget& budget);
  // Improves a window of the best choice; a window that breaks the limit is solved again at higher
  // prices. In a small core every other window divides memory anew where nodes compete for it
  // instead. Only after a feasible choice is known.
  void polish(Budget& budget);

  // Tries to make the present choice feasible: windows around what is forbidden, then rising prices
  // where memory is exceeded, while that helps.
  void mend(Budget& budget);

  // Goes on from a feasible choice of another search, with what this one has found since `common`,
  // which both began with, where that fits in and gains.
  void join(const Values& theirs, const Values& common);

  bool found() const { return best_.has_value(); }
  Total best_cost() const { return best_cost_; }
  const StrategyChoice& best_choice() const { return *best_; }
  const Values& best_values() const { return best_values_; }
  const std::vector<double>& prices() const { return prices_.values(); }
  // The present choice, feasible or not.
  const StrategyState& state() const { return state_; }

 private:
  void solve(const std::vector<std::uint32_t>& window, const Elimination::Allowed* allowed,
             Budget& budget);
  void solve_priced(const std::vector<std::uint32_t>& window, const MemoryPrices& prices,
                    Budget& budget);
  const Elimination::Allowed* promising(const std::vector<std::uint32_t>& window);
  void price_node(std::uint32_t node, const MemoryPrices& prices);
  // Takes over changed values; the nodes whose value changed.
  void apply(const std::vector<std::uint32_t>& window, const Values& values);
  void keep_if_best();
  void move_prices();
  std::vector<std::uint32_t> pick_window();
  std::size_t window_size();
  std::vector<std::uint32_t> around(std::vector<std::uint32_t> nodes, std::size_t size);
  void polish_at_prices(Budget& budget);
  bool polish_within_shares(Budget& budget);
  std::vector<double> shaken_prices();
  bool raise_where_exceeded(std::vector<double>& prices) const;
  void choose_where_to_go_on(Total best_before);
  std::vector<std::uint32_t> forbidden_nodes() const;
  void mend_forbidden(Budget& budget);
  void repair(const std::vector<std::uint32_t>& window, Budget& budget, int attempts);

  const StrategyProblem& problem_;
  const Core& core_;
  std::mt19937_64 random_;
  StrategyState state_;
  Values values_;
  Values best_values_;
  Values from_;  // where windows are tried; feasible, near the best
  Total from_cost_ = 0;
  int since_gain_ = 0;
  MemoryPrices prices_;
  MemoryShares shares_;
  std::vector<double> steps_;  // of each price, grown and shrunk by the sign of the excess
  std::vector<signed char> signs_;
  double typical_price_ = 0;
  Elimination::Allowed ranked_;
  Elimination::Allowed allowed_;
  Elimination whole_;
  Elimination windows_;
  Elimination::NodeCosts costs_;
  std::vector<std::uint32_t> all_;
  std::vector<std::uint32_t> seen_;  // of each node, the mark of the window it was last in
  std::uint32_t mark_ = 0;
  std::optional<StrategyChoice> best_;
  Total best_cost_ = kGreatestTotal;
};

}  // namespace optile::placement
