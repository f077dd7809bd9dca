#include "placement/strategy/parallel_searches.h"

#include <utility>

namespace optile::placement {
namespace {

constexpr int kPasses = 10;  // over the whole core, before windows
constexpr int kWindowPatience =
    100;  // windows without a gain: another search is more likely to find one
constexpr std::uint64_t kBetweenSeeds = 1'000'003;

}  // namespace

void CommonChoice::exchange(PricedSearch& search, Share& share) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (version_ != share.version) search.join(values_, share.values);
  if (search.found() && search.best().cost < cost_) {
    cost_ = search.best().cost;
    values_ = search.best().values;
    ++version_;
  }
  if (version_ == share.version) return;
  share = {values_, version_};
}

ParallelSearches::ParallelSearches(const StrategyProblem& problem, const Core& core,
                                   const Start& start, int count, bool together,
                                   const Budget& budget) {
  budgets_.reserve(static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i) budgets_.push_back(budget.part(1));
  for (int i = 0; i < count; ++i) {
    Start mine = start;
    mine.seed += kBetweenSeeds * static_cast<std::uint64_t>(i + 1);
    threads_.emplace_back([this, &problem, &core, i, together, mine = std::move(mine)] {
      Budget& of_thread = budgets_[static_cast<std::size_t>(i)];
      if (together) {
        search_together(problem, core, mine, of_thread);
      } else {
        search(problem, core, mine, of_thread);
      }
    });
  }
}

void ParallelSearches::search(const StrategyProblem& problem, const Core& core, const Start& start,
                              Budget& budget) {
  for (std::uint64_t again = 0; !over_ && !budget.spent_now(); ++again) {
    PricedSearch search(problem, core, start.values, start.prices, start.seed + again);
    search.rank(start.ranked);
    Total last = kGreatestTotal;
    int since_gain = 0;
    for (int i = 0; since_gain < kWindowPatience && !over_ && !budget.spent_now(); ++i) {
      if (i < kPasses || !search.found()) {
        search.pass(budget);
        if (!search.found() && i % kMendEvery == kMendEvery / 2) search.mend(budget);
      } else {
        search.polish(budget);
        ++since_gain;
      }
      if (!search.found() || search.best().cost >= last) continue;
      last = search.best().cost;
      since_gain = 0;
      keep(search);
    }
  }
}

void ParallelSearches::search_together(const StrategyProblem& problem, const Core& core,
                                       const Start& start, Budget& budget) {
  PricedSearch search(problem, core, start.values, start.prices, start.seed);
  search.rank(start.ranked);
  CommonChoice::Share share;
  for (int i = 0; !over_ && !budget.spent_now(); ++i) {
    if (i < kPasses || !search.found()) {
      search.pass(budget);
      if (!search.found() && i % kMendEvery == kMendEvery / 2) search.mend(budget);
    } else {
      search.polish(budget);
    }
    if (i >= kPasses) common_.exchange(search, share);
    if (search.found()) keep(search);
  }
}

void ParallelSearches::exchange(PricedSearch& search) {
  common_.exchange(search, of_caller_);
}

void ParallelSearches::keep(const PricedSearch& search) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (search.best().cost >= cost_) return;
  cost_ = search.best().cost;
  choice_ = *search.best().choice;
}

std::optional<StrategyChoice> ParallelSearches::cheaper_than(Total cost) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (choice_.empty() || cost_ >= cost) return std::nullopt;
  return choice_;
}

void ParallelSearches::join() {
  over_ = true;
  for (std::thread& thread : threads_) {
    if (thread.joinable()) thread.join();
  }
}

void ParallelSearches::end(Budget& budget) {
  join();
  for (const Budget& one : budgets_) budget.absorb(one);
  budgets_.clear();
}

}  // namespace optile::placement
