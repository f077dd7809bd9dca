// Searches for cheap choices within the memory limit: elimination over the whole core or a window
// of it, with memory priced; prices rise where a choice exceeds the limit and fall where it does
// not. Every candidate is evaluated on the problem itself.
#pragma once

#include <cstdint>
#include <optional>
#include <random>
#include <utility>
#include <vector>

#include "placement/budget.h"
#include "placement/strategy/core.h"
#include "placement/strategy/elimination.h"
#include "placement/strategy/evaluator.h"
#include "placement/strategy/memory_shares.h"
#include "placement/strategy/search_prices.h"
#include "placement/strategy/search_windows.h"

namespace optile::placement {

constexpr int kMendEvery = 10;  // passes, as long as nothing feasible is found

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

  // The cheapest feasible choice; `values` are the start's until there is one.
  struct Best {
    std::optional<StrategyChoice> choice;
    Total cost = kGreatestTotal;
    Values values;
  };
  bool found() const { return best_.choice.has_value(); }
  const Best& best() const { return best_; }
  const std::vector<double>& prices() const { return prices_.now().values(); }
  // The present choice, feasible or not.
  const StrategyState& state() const { return state_; }

 private:
  void solve(const std::vector<std::uint32_t>& window, const Elimination::Allowed* allowed,
             Budget& budget);
  void solve_priced(const std::vector<std::uint32_t>& window, const MemoryPrices& prices,
                    Budget& budget);
  const Elimination::Allowed* promising(const std::vector<std::uint32_t>& window);
  // Takes over changed values; the nodes whose value changed.
  void apply(const std::vector<std::uint32_t>& window, const Values& values);
  void keep_if_best();
  void polish_at_prices(Budget& budget);
  bool polish_within_shares(Budget& budget);
  void choose_where_to_go_on(Total best_before);
  void mend_forbidden(Budget& budget);
  void repair(const std::vector<std::uint32_t>& window, Budget& budget, int attempts);

  // Where windows are tried; feasible, near the best.
  struct From {
    Values values;
    Total cost = 0;
    int since_gain = 0;
  };

  const Core& core_;
  std::optional<Usage> limit_;
  std::mt19937_64 random_;
  StrategyState state_;
  Values values_;
  Best best_;
  From from_;
  SearchPrices prices_;
  MemoryShares shares_;
  Elimination::Allowed ranked_;
  Elimination::Allowed allowed_;
  Elimination whole_;
  Elimination windowed_;
  Elimination::NodeCosts costs_;
  SearchWindows windows_;
};

}  // namespace optile::placement
