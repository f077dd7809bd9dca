#include "placement/strategy/solver.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <random>
#include <thread>
#include <utility>

#include "placement/strategy/core.h"
#include "placement/strategy/elimination.h"
#include "placement/strategy/evaluator.h"
#include "placement/strategy/node_edge_elimination.h"
#include "placement/strategy/parallel_searches.h"
#include "placement/strategy/price_ascent.h"
#include "placement/strategy/priced_search.h"

namespace optile::placement {
namespace {

constexpr EliminationLimits kExactLimits{.table_entries = 1 << 20, .total_entries = 1 << 25};
// With a memory limit an exact answer without prices is luck, and worth a try only where it is
// fast.
constexpr std::size_t kTryWithMemory = 2000;
constexpr EliminationLimits kTryLimits{.table_entries = 1 << 16, .total_entries = 1 << 22};

// Shares of the budget at which a phase ends.
struct Shares {
  double ascent;  // prices before the search
  double passes;  // over the whole core
  double search;  // windows; what is left raises the bound
};
constexpr Shares kAnswerFirst{0.10, 0.28, 0.85};
constexpr Shares kBoundFirst{0.10, 0.15, 0.25};

constexpr std::uint64_t kFirstSolverSweeps = 300;
// On a slow machine the search would start from noise; more of the time is better spent here.
constexpr std::uint64_t kFewestSweeps = 120;
constexpr double kLongestAscent = 0.3;
constexpr std::uint64_t kDecodeEvery = 25;
constexpr int kFewestPasses = 10;
// With no limit at all: so many candidates without a gain are enough.
constexpr std::uint64_t kSolverPatience = 400;
// Beside the search, where its core is small and time alone is limited: with evaluations the same
// seed has to lead to the same answer, and one search makes more of them than four.
constexpr int kSearchesBeside = 3;
constexpr std::size_t kMostForSearchesBeside = 3000;

class Solver {
 public:
  Solver(const StrategyProblem& problem, const StrategyRequest& request, Budget& budget)
      : problem_(problem), request_(request), budget_(budget) {}

  base::Result<Answer> run() {
    if (request_.method == StrategyMethod::kOptcnn) return optcnn();
    base::Result<Core> core = make_core(problem_);
    if (!core.ok()) return core.error();
    core_ = std::move(core.value());
    if (core_->nodes.empty()) {
      take_exact({});
    } else if (!try_exact()) {
      if (request_.method == StrategyMethod::kElimination) {
        return base::Error{base::ErrorKind::kInvalid,
                           "elimination alone does not solve this problem: a table would have more "
                           "than 2^20 entries, or memory is short; use the method auto"};
      }
      search();
    }
    return answer();
  }

 private:
  base::Result<Answer> optcnn() {
    const auto outcome = eliminate_nodes_and_edges(problem_, budget_);
    if (!outcome.ok()) return outcome.error();
    budget_.count();
    if (consider(outcome.value().choice)) bound_ = best_cost_;
    return answer();
  }

  bool closed() const { return best_cost_ <= bound_; }

  double share() const {
    double share = 0;
    if (budget_.limits_time()) {
      share = budget_.seconds() / std::max(1e-9, budget_.seconds() + budget_.seconds_left());
    }
    if (budget_.limits_evaluations()) {
      const auto used = static_cast<double>(budget_.evaluations());
      const auto left = static_cast<double>(budget_.evaluations_left());
      share = std::max(share, used / std::max(1.0, used + left));
    }
    return share;
  }

  bool over(double until) {
    if (closed() || budget_.spent_now()) return true;
    if (budget_.limits_time() || budget_.limits_evaluations()) return share() >= until;
    return budget_.evaluations() - last_gain_ > kSolverPatience;
  }

  bool consider(const StrategyChoice& choice) {
    const StrategyState state(problem_, choice);
    if (!state.feasible()) return false;
    if (best_.empty() || state.cost() < best_cost_) {
      best_cost_ = state.cost();
      best_ = choice;
      last_gain_ = budget_.evaluations();
    }
    return true;
  }

  void take_exact(const std::vector<std::uint16_t>& values) {
    budget_.count();
    if (consider(core_->original_choice(values))) raise_bound(core_->cost(values));
  }

  bool try_exact() {
    const bool limited = problem_.usage_limit.has_value();
    const bool forced = request_.method == StrategyMethod::kElimination;
    if (limited && !forced && core_->nodes.size() > kTryWithMemory) return false;
    Elimination elimination(*core_, limited && !forced ? kTryLimits : kExactLimits);
    std::vector<std::uint32_t> all(core_->nodes.size());
    Elimination::NodeCosts costs;
    for (std::uint32_t i = 0; i < all.size(); ++i) {
      all[i] = i;
      costs.push_back(core_->nodes[i].costs);
    }
    std::vector<std::uint16_t> values(all.size(), 0);
    std::mt19937_64 random(request_.seed);
    if (elimination.improve(all, costs, nullptr, random, values) > 0) {
      if (!forced) consider(core_->original_choice(values));
      return false;
    }
    take_exact(values);
    return closed();
  }

  // By a bound of the core.
  void raise_bound(double bound) { bound_ = std::max(bound_, core_->scale.at_least(bound)); }

  double target(const PriceAscent& ascent) const {
    if (!best_.empty()) return core_->scale.nearest(best_cost_);
    return std::max(1.0, ascent.bound() * 1.15);
  }

  void first_ascent(PriceAscent& ascent, double until) {
    while (!ascent.stalled() && ascent.sweeps() < kFirstSolverSweeps) {
      if (over(ascent.sweeps() < kFewestSweeps ? kLongestAscent : until)) return;
      ascent.step(target(ascent));
      raise_bound(ascent.bound());
      if (ascent.sweeps() % kDecodeEvery != 0) continue;
      budget_.count();
      consider(core_->original_choice(ascent.settled().decode()));
    }
  }

  void take_from_searches() {
    if (!searches_) return;
    if (const auto choice = searches_->cheaper_than(best_cost_)) consider(*choice);
  }

  void take(const PricedSearch& search) {
    take_from_searches();
    if (!search.found() || search.best().cost >= best_cost_) return;
    best_ = *search.best().choice;
    best_cost_ = search.best().cost;
    last_gain_ = budget_.evaluations();
  }

  void search() {
    const Shares shares = request_.method == StrategyMethod::kBound ? kBoundFirst : kAnswerFirst;
    PriceAscent ascent(*core_);
    first_ascent(ascent, shares.ascent);
    if (closed()) return;
    const DualBound messages = ascent.settled();
    PricedSearch search(problem_, *core_, messages.decode(), ascent.best_prices(), request_.seed);
    search.rank(messages.ranked());
    if (budget_.limits_time() && !budget_.limits_evaluations() &&
        request_.method == StrategyMethod::kAuto) {
      const ParallelSearches::Start start{messages.decode(), ascent.best_prices(),
                                          messages.ranked(), request_.seed};
      searches_.emplace(problem_, *core_, start, together() ? beside() : kSearchesBeside,
                        together(), budget_);
    }
    for (int i = 0; i < kFewestPasses || !search.found() || !over(shares.passes); ++i) {
      if (over(1)) break;
      search.pass(budget_);
      if (!search.found() && i % kMendEvery == kMendEvery / 2) search.mend(budget_);
      take(search);
      if (!budget_.limits_time() && !budget_.limits_evaluations() && i > kUnlimitedPasses) break;
    }
    while (search.found() && !over(shares.search)) polish(search);
    last_ascent(ascent, search);
    if (!searches_) return;
    searches_->end(budget_);
    take_from_searches();
  }

  // Raises the bound with what is left; where that stalls, the search goes on.
  void last_ascent(PriceAscent& ascent, PricedSearch& search) {
    ascent.restart_from(ascent.best_prices());
    std::uint64_t sweeps = 0;
    while (!over(1) && !ascent.stalled() && sweeps < kLastSweeps) {
      take_from_searches();
      ascent.step(target(ascent));
      raise_bound(ascent.bound());
      ++sweeps;
    }
    while (search.found() && !over(1)) polish(search);
  }

  // A large core is searched by as many threads as there are processors, at one choice.
  bool together() const { return core_->nodes.size() > kMostForSearchesBeside; }

  static int beside() {
    const auto processors = static_cast<int>(std::thread::hardware_concurrency());
    return std::clamp(processors - 1, 0, kSearchesBeside);
  }

  void polish(PricedSearch& search) {
    search.polish(budget_);
    if (searches_ && together()) searches_->exchange(search);
    take(search);
  }

  base::Result<Answer> answer() const {
    Answer answer;
    answer.lower_bound = rounded_down(bound_);
    answer.method = name_of(request_.method);
    answer.seed = request_.seed;
    answer.seconds = budget_.seconds();
    answer.evaluations = budget_.evaluations();
    answer.feasible = !best_.empty();
    if (!answer.feasible) {
      answer.violation = "no choice within the memory limit was found";
      return answer;
    }
    const StrategyState state(problem_, best_);
    answer.cost = static_cast<double>(state.cost());
    answer.memory = {static_cast<double>(state.peak())};
    answer.assignment.assign(best_.begin(), best_.end());
    return answer;
  }

  static constexpr int kUnlimitedPasses = 100;
  static constexpr std::uint64_t kLastSweeps = 2000;

  const StrategyProblem& problem_;
  const StrategyRequest& request_;
  Budget& budget_;
  std::optional<Core> core_;
  StrategyChoice best_;
  Total best_cost_ = kGreatestTotal;
  Total bound_ = 0;
  std::uint64_t last_gain_ = 0;
  std::optional<ParallelSearches> searches_;  // refers to the core: destroyed before it
};

}  // namespace

base::Result<Answer> solve_strategy(const StrategyProblem& problem, const StrategyRequest& request,
                                    Budget& budget) {
  if (auto status = check(problem); !status.ok()) return status.error();
  return Solver(problem, request, budget).run();
}

}  // namespace optile::placement
