// More searches of the same kind beside the first one, from other seeds, each on a thread of its
// own, that begin again where they find nothing more: in a small core it is luck which windows lead
// to the optimum. What they find is asked for from the thread that made them.
#pragma once

#include <atomic>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "placement/strategy/priced_search.h"

namespace optile::placement {

class Companions {
 public:
  // What each search begins with; see PricedSearch. The problem and the core must outlive this.
  struct Start {
    PricedSearch::Values values;
    std::vector<double> prices;
    std::vector<std::vector<std::uint16_t>> ranked;
    std::uint64_t seed = 1;
  };

  // They search until what is left of the budget is spent, or until end().
  Companions(const StrategyProblem& problem, const Core& core, const Start& start, int count,
             const Budget& budget);
  ~Companions() { join(); }
  Companions(const Companions&) = delete;
  Companions& operator=(const Companions&) = delete;

  // The cheapest feasible choice that they found below this cost, if any.
  std::optional<StrategyChoice> cheaper_than(Total cost);
  // Ends them; the budget then has their candidates too.
  void end(Budget& budget);

 private:
  void search(const StrategyProblem& problem, const Core& core, const Start& start, Budget& budget);
  void keep(const PricedSearch& search);
  void join();

  std::atomic<bool> over_ = false;
  std::mutex mutex_;
  Total cost_ = kGreatestTotal;  // under it, and so is the choice
  StrategyChoice choice_;
  std::vector<Budget> budgets_;
  std::vector<std::thread> threads_;
};

}  // namespace optile::placement
