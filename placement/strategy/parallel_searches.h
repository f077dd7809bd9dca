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

// What several searches of one core have found, put together: in a large core what is found in one
// part of it goes with what is found in another.
class CommonChoice {
 public:
  // What a search has had from here.
  struct Share {
    PricedSearch::Values values;
    std::uint64_t version = 0;
  };
  // Takes what the search has found, and gives it what others have since.
  void exchange(PricedSearch& search, Share& share);

 private:
  std::mutex mutex_;
  PricedSearch::Values values_;
  Total cost_ = kGreatestTotal;
  std::uint64_t version_ = 0;
};

class ParallelSearches {
 public:
  // What each search begins with; see PricedSearch. The problem and the core must outlive this.
  struct Start {
    PricedSearch::Values values;
    std::vector<double> prices;
    std::vector<std::vector<std::uint16_t>> ranked;
    std::uint64_t seed = 1;
  };

  // They search until what is left of the budget is spent, or until end(); `together` where they
  // put what they find together, and do not begin again.
  ParallelSearches(const StrategyProblem& problem, const Core& core, const Start& start, int count,
                   bool together, const Budget& budget);
  ~ParallelSearches() { join(); }
  ParallelSearches(const ParallelSearches&) = delete;
  ParallelSearches& operator=(const ParallelSearches&) = delete;

  // Where they search together: puts the caller's search and theirs together.
  void exchange(PricedSearch& search);
  // The cheapest feasible choice that they found below this cost, if any.
  std::optional<StrategyChoice> cheaper_than(Total cost);
  // Ends them; the budget then has their candidates too.
  void end(Budget& budget);

 private:
  void search(const StrategyProblem& problem, const Core& core, const Start& start, Budget& budget);
  void search_together(const StrategyProblem& problem, const Core& core, const Start& start,
                       Budget& budget);
  void keep(const PricedSearch& search);
  void join();

  std::atomic<bool> over_ = false;
  std::mutex mutex_;
  Total cost_ = kGreatestTotal;  // under it, and so is the choice
  StrategyChoice choice_;
  CommonChoice common_;
  CommonChoice::Share of_caller_;
  std::vector<Budget> budgets_;
  std::vector<std::thread> threads_;
};

}  // namespace optile::placement
