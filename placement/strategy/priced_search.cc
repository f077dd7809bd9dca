#include "placement/strategy/priced_search.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace optile::placement {
namespace {

// Tables of the whole core stay small where it is large; a small core affords exactness.
constexpr std::size_t kTableOfSmall = 1 << 17;
constexpr std::size_t kTableOfLarge = 10'000;
constexpr std::size_t kTableOfWindow = 1 << 17;

constexpr int kRepairs = 6;
constexpr int kMendings = 24;
constexpr int kForbiddenWindows = 100;
constexpr std::size_t kMostMended = 2048;
constexpr double kSlackOfSmall = 0.02;
constexpr int kSearchPatience = 60;
constexpr std::size_t kFewestCompetitors = 2;
constexpr std::size_t kMoreCompetitors = 4;
constexpr std::size_t kFewestPromising = 2;
constexpr std::size_t kMorePromising = 7;

std::size_t table_of(const Core& core) {
  return core.nodes.size() <= kSmallCore ? kTableOfSmall : kTableOfLarge;
}

// The nodes of the core at the ends of forbidden edges.
std::vector<std::uint32_t> forbidden_nodes(const Core& core, const PricedSearch::Values& values) {
  std::vector<std::uint32_t> nodes;
  for (const CoreEdge& edge : core.edges) {
    const CoreTable& table = core.tables[edge.table];
    const std::size_t at = std::size_t{values[edge.first]} * table.columns + values[edge.second];
    if (table.by_row[at] < kWall) continue;
    nodes.push_back(edge.first);
    nodes.push_back(edge.second);
  }
  return nodes;
}

}  // namespace

PricedSearch::PricedSearch(const StrategyProblem& problem, const Core& core, Values start,
                           std::vector<double> prices, std::uint64_t seed)
    : core_(core),
      limit_(problem.usage_limit),
      random_(seed),
      state_(problem, core.original_choice(start)),
      values_(std::move(start)),
      prices_(core, std::move(prices)),
      shares_(core),
      whole_(core, {.table_entries = table_of(core)}),
      windowed_(core, {.table_entries = kTableOfWindow}),
      costs_(core.nodes.size()),
      windows_(core) {
  best_.values = values_;
}

void PricedSearch::apply(const std::vector<std::uint32_t>& window, const Values& values) {
  for (std::uint32_t node : window) {
    if (values_[node] == values[node]) continue;
    values_[node] = values[node];
    const CoreNode& of = core_.nodes[node];
    state_.move(of.original, of.strategies[values[node]]);
  }
}

void PricedSearch::keep_if_best() {
  if (!state_.feasible() || (best_.choice && state_.cost() >= best_.cost)) return;
  best_ = {state_.choice(), state_.cost(), values_};
}

// At the costs as they are.
void PricedSearch::solve(const std::vector<std::uint32_t>& window,
                         const Elimination::Allowed* allowed, Budget& budget) {
  Elimination& solver = window.size() == windows_.all().size() ? whole_ : windowed_;
  Values values = values_;
  solver.improve(window, costs_, allowed, random_, values);
  apply(window, values);
  budget.count();
  keep_if_best();
}

void PricedSearch::solve_priced(const std::vector<std::uint32_t>& window,
                                const MemoryPrices& prices, Budget& budget) {
  for (std::uint32_t node : window) {
    const CoreNode& of = core_.nodes[node];
    const double price = prices.over(of.live);
    costs_[node].resize(of.costs.size());
    for (std::size_t s = 0; s < of.costs.size(); ++s) {
      costs_[node][s] = of.costs[s] + price * static_cast<double>(of.usages[s]);
    }
  }
  solve(window, promising(window), budget);
}

const Elimination::Allowed* PricedSearch::promising(const std::vector<std::uint32_t>& window) {
  if (ranked_.empty() || random_() % 2 == 0) return nullptr;
  const std::size_t count = kFewestPromising + random_() % kMorePromising;
  allowed_.resize(ranked_.size());
  for (std::uint32_t node : window) {
    const std::vector<std::uint16_t>& ranked = ranked_[node];
    const std::size_t kept =
        core_.neighbours[node].size() <= 1 ? ranked.size() : std::min(count, ranked.size());
    allowed_[node].assign(ranked.begin(), ranked.begin() + static_cast<std::ptrdiff_t>(kept));
  }
  return &allowed_;
}

void PricedSearch::pass(Budget& budget) {
  solve_priced(windows_.all(), prices_.now(), budget);
  if (prices_.now().limited()) prices_.move(usage_of(core_, values_), *limit_);
}

void PricedSearch::repair(const std::vector<std::uint32_t>& window, Budget& budget, int attempts) {
  std::vector<double> raised = prices_.now().values();
  MemoryPrices prices(core_);
  for (int i = 0; i < attempts && !state_.feasible() && !budget.spent_now(); ++i) {
    if (!prices_.raise_where_exceeded(usage_of(core_, values_), raised)) break;
    prices.set(raised);
    solve_priced(window, prices, budget);
  }
}

void PricedSearch::mend_forbidden(Budget& budget) {
  std::size_t size = 64;
  for (int i = 0; i < kForbiddenWindows && state_.forbidden() > 0 && !budget.spent_now(); ++i) {
    const std::vector<std::uint32_t> nodes = forbidden_nodes(core_, values_);
    if (nodes.empty()) return;
    const std::int64_t before = state_.forbidden();
    const std::vector<std::uint32_t> window = windows_.around(
        {nodes[random_() % nodes.size()]}, std::min(size, windows_.all().size()), random_);
    solve_priced(window, prices_.now(), budget);
    if (state_.forbidden() >= before) size = std::min(kMostMended, size * 2);
  }
}

void PricedSearch::mend(Budget& budget) {
  mend_forbidden(budget);
  if (!state_.within_limit()) repair(windows_.all(), budget, kMendings);
}

void PricedSearch::polish(Budget& budget) {
  if (from_.values.empty()) from_ = {best_.values, best_.cost, from_.since_gain};
  apply(windows_.all(), from_.values);
  const Total best_before = best_.cost;
  if (!polish_within_shares(budget)) polish_at_prices(budget);
  choose_where_to_go_on(best_before);
}

void PricedSearch::join(const Values& theirs, const Values& common) {
  Values both = theirs;
  if (found() && !common.empty()) {
    for (std::size_t i = 0; i < both.size(); ++i) {
      if (theirs[i] == common[i]) both[i] = best_.values[i];
    }
  }
  apply(windows_.all(), theirs);
  keep_if_best();
  apply(windows_.all(), both);
  keep_if_best();
  from_ = {best_.values, best_.cost, 0};
}

void PricedSearch::polish_at_prices(Budget& budget) {
  const std::vector<std::uint32_t> window = windows_.pick(random_);
  MemoryPrices prices(core_);
  if (prices_.now().limited()) prices.set(prices_.shaken(random_));
  solve_priced(window, prices, budget);
  if (!state_.within_limit()) repair(window, budget, kRepairs);
}

// Without prices: what is within the shares keeps the limit.
bool PricedSearch::polish_within_shares(Budget& budget) {
  if (windows_.all().size() > kSmallCore || random_() % 2 == 0) return false;
  const std::size_t most = kFewestCompetitors + random_() % kMoreCompetitors;
  std::vector<std::uint32_t> nodes = shares_.competitors(prices_.now().values(), most, random_);
  if (nodes.empty()) return false;
  const std::vector<std::uint32_t> window =
      windows_.around(std::move(nodes), windows_.pick_size(random_), random_);
  const std::vector<Usage> shares = shares_.divide(window, values_, random_);
  allowed_.resize(windows_.all().size());
  for (std::size_t i = 0; i < window.size(); ++i) {
    const CoreNode& node = core_.nodes[window[i]];
    std::vector<std::uint16_t>& allowed = allowed_[window[i]];
    allowed.clear();
    costs_[window[i]] = node.costs;
    for (std::size_t s = 0; s < node.costs.size(); ++s) {
      if (node.usages[s] <= shares[i]) {
        allowed.push_back(static_cast<std::uint16_t>(s));
      } else {
        costs_[window[i]][s] += kWall;
      }
    }
  }
  solve(window, &allowed_, budget);
  return true;
}

// A little worse is a way out of where windows find nothing; for long without a gain, back.
void PricedSearch::choose_where_to_go_on(Total best_before) {
  from_.since_gain = best_.cost < best_before ? 0 : from_.since_gain + 1;
  const double slack = windows_.all().size() <= kSmallCore ? kSlackOfSmall * draw_unit(random_) : 0;
  const auto most = static_cast<double>(from_.cost) + slack * static_cast<double>(best_.cost);
  if (state_.feasible() && static_cast<double>(state_.cost()) <= most) {
    from_.values = values_;
    from_.cost = state_.cost();
  }
  if (from_.since_gain <= kSearchPatience) return;
  from_ = {best_.values, best_.cost, 0};
}

}  // namespace optile::placement
