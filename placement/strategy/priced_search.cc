#include "placement/strategy/priced_search.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace optile::placement {
namespace {

// Tables of the whole core stay small where it is large; a small core affords exactness.
constexpr std::size_t kSmallCore = 3000;
constexpr std::size_t kTableOfSmall = 1 << 17;
constexpr std::size_t kTableOfLarge = 10'000;
constexpr std::size_t kTableOfWindow = 1 << 17;

// A price moves by its own step, which grows while the excess keeps its sign.
constexpr double kFirstStep = 0.1;
constexpr double kLongestStep = 3;
constexpr double kShortestStep = 1e-4;
constexpr double kGrow = 1.2;
constexpr double kShrink = 0.5;
constexpr double kExcessForFullStep = 0.05;  // of the limit
constexpr double kLeastShare = 0.02;

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

// Windows have between 2^4 and 2^12 nodes; one in 16 is everything, and one in 64 of a large core,
// where that takes as long as a hundred others.
constexpr double kSmallestWindow = 4;
constexpr double kLargestWindow = 12;
constexpr unsigned kWholeOneIn = 16;
constexpr unsigned kWholeOfLargeOneIn = 64;

double unit(std::mt19937_64& random) {
  return static_cast<double>(random() >> 11) * 0x1.0p-53;
}

// About normal with variance 1; the standard library's differs between machines.
double bell(std::mt19937_64& random) {
  double sum = 0;
  for (int i = 0; i < 4; ++i) sum += unit(random) - 0.5;
  return sum * 1.7320508075688772;
}

std::size_t table_of(const Core& core) {
  return core.nodes.size() <= kSmallCore ? kTableOfSmall : kTableOfLarge;
}

}  // namespace

PricedSearch::PricedSearch(const StrategyProblem& problem, const Core& core, Values start,
                           std::vector<double> prices, std::uint64_t seed)
    : problem_(problem),
      core_(core),
      random_(seed),
      state_(problem, core.original_choice(start)),
      values_(std::move(start)),
      best_values_(values_),
      prices_(core),
      shares_(core),
      signs_(core.room.size(), 0),
      whole_(core, {.table_entries = table_of(core)}),
      windows_(core, {.table_entries = kTableOfWindow}),
      costs_(core.nodes.size()),
      all_(core.nodes.size()),
      seen_(core.nodes.size(), 0) {
  for (std::uint32_t i = 0; i < all_.size(); ++i) all_[i] = i;
  double sum = 0;
  double count = 0;
  for (double value : prices) {
    sum += value;
    count += value > 0 ? 1 : 0;
  }
  typical_price_ = count > 0 ? sum / count : 1e-3;
  steps_.assign(prices.size(), kFirstStep * typical_price_);
  prices_.set(std::move(prices));
}

void PricedSearch::price_node(std::uint32_t node, const MemoryPrices& prices) {
  const CoreNode& of = core_.nodes[node];
  const double price = prices.over(of.live);
  costs_[node].resize(of.costs.size());
  for (std::size_t s = 0; s < of.costs.size(); ++s) {
    costs_[node][s] = of.costs[s] + price * static_cast<double>(of.usages[s]);
  }
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
  if (!state_.feasible() || (best_ && state_.cost() >= best_cost_)) return;
  best_cost_ = state_.cost();
  best_ = state_.choice();
  best_values_ = values_;
}

// At the costs as they are.
void PricedSearch::solve(const std::vector<std::uint32_t>& window,
                         const Elimination::Allowed* allowed, Budget& budget) {
  Elimination& solver = window.size() == all_.size() ? whole_ : windows_;
  Values values = values_;
  solver.improve(window, costs_, allowed, random_, values);
  apply(window, values);
  budget.count();
  keep_if_best();
}

void PricedSearch::solve_priced(const std::vector<std::uint32_t>& window,
                                const MemoryPrices& prices, Budget& budget) {
  for (std::uint32_t node : window) price_node(node, prices);
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
  solve_priced(all_, prices_, budget);
  move_prices();
}

void PricedSearch::move_prices() {
  if (!prices_.limited()) return;
  const std::vector<Total> use = usage_of(core_, values_);
  std::vector<double> prices = prices_.values();
  const auto full = kExcessForFullStep * static_cast<double>(*problem_.usage_limit);
  for (std::size_t i = 0; i < use.size(); ++i) {
    const auto excess = static_cast<double>(use[i] - core_.room[i]);
    const int sign = excess > 0 ? 1 : (prices[i] > 0 ? -1 : 0);
    if (sign * signs_[i] > 0) {
      steps_[i] = std::min(kLongestStep * typical_price_, steps_[i] * kGrow);
    } else if (sign * signs_[i] < 0) {
      steps_[i] = std::max(kShortestStep * typical_price_, steps_[i] * kShrink);
    }
    signs_[i] = static_cast<signed char>(sign);
    prices[i] += sign * steps_[i] * std::min(1.0, std::abs(excess) / full + kLeastShare);
  }
  prices_.set(std::move(prices));
}

// Breadth first with a random order of neighbours, so that what is around one node is connected.
std::vector<std::uint32_t> PricedSearch::around(std::vector<std::uint32_t> nodes,
                                                std::size_t size) {
  ++mark_;
  std::vector<std::uint32_t> window = std::move(nodes);
  for (std::uint32_t node : window) seen_[node] = mark_;
  for (std::size_t at = 0; at < window.size() && window.size() < size; ++at) {
    const auto& neighbours = core_.neighbours[window[at]];
    const std::size_t shift = neighbours.empty() ? 0 : random_() % neighbours.size();
    for (std::size_t k = 0; k < neighbours.size() && window.size() < size; ++k) {
      const std::uint32_t other = neighbours[(k + shift) % neighbours.size()].node;
      if (seen_[other] == mark_) continue;
      seen_[other] = mark_;
      window.push_back(other);
    }
  }
  return window;
}

std::vector<std::uint32_t> PricedSearch::pick_window() {
  const std::size_t count = all_.size();
  const unsigned one_in = count <= kSmallCore ? kWholeOneIn : kWholeOfLargeOneIn;
  if (random_() % one_in == 0 || count < 64) return all_;
  const std::size_t size = window_size();
  return around({static_cast<std::uint32_t>(random_() % count)}, size);
}

std::size_t PricedSearch::window_size() {
  const double exponent = kSmallestWindow + (kLargestWindow - kSmallestWindow) * unit(random_);
  return std::min(static_cast<std::size_t>(std::exp2(exponent)), all_.size());
}

// Windows at exactly the right prices would find the same thing each time.
std::vector<double> PricedSearch::shaken_prices() {
  std::vector<double> prices = prices_.values();
  const double spread = unit(random_);
  const double level = std::exp(0.3 * bell(random_));
  for (double& price : prices) price *= level * std::exp(spread * bell(random_));
  return prices;
}

bool PricedSearch::raise_where_exceeded(std::vector<double>& prices) const {
  bool exceeded = false;
  const std::vector<Total> use = usage_of(core_, values_);
  for (std::size_t i = 0; i < use.size(); ++i) {
    if (use[i] <= core_.room[i]) continue;
    exceeded = true;
    prices[i] = prices[i] * 1.5 + 0.2 * typical_price_;
  }
  return exceeded;
}

void PricedSearch::repair(const std::vector<std::uint32_t>& window, Budget& budget, int attempts) {
  std::vector<double> raised = prices_.values();
  MemoryPrices prices(core_);
  for (int i = 0; i < attempts && !state_.feasible() && !budget.spent_now(); ++i) {
    if (!raise_where_exceeded(raised)) break;
    prices.set(raised);
    solve_priced(window, prices, budget);
  }
}

// The nodes of the core at the ends of forbidden edges.
std::vector<std::uint32_t> PricedSearch::forbidden_nodes() const {
  std::vector<std::uint32_t> nodes;
  for (const CoreEdge& edge : core_.edges) {
    const CoreTable& table = core_.tables[edge.table];
    const std::size_t at = std::size_t{values_[edge.first]} * table.columns + values_[edge.second];
    if (table.by_row[at] < kWall) continue;
    nodes.push_back(edge.first);
    nodes.push_back(edge.second);
  }
  return nodes;
}

void PricedSearch::mend_forbidden(Budget& budget) {
  std::size_t size = 64;
  for (int i = 0; i < kForbiddenWindows && state_.forbidden() > 0 && !budget.spent_now(); ++i) {
    const std::vector<std::uint32_t> nodes = forbidden_nodes();
    if (nodes.empty()) return;
    const std::int64_t before = state_.forbidden();
    const std::vector<std::uint32_t> window =
        around({nodes[random_() % nodes.size()]}, std::min(size, all_.size()));
    solve_priced(window, prices_, budget);
    if (state_.forbidden() >= before) size = std::min(kMostMended, size * 2);
  }
}

void PricedSearch::mend(Budget& budget) {
  mend_forbidden(budget);
  if (!state_.within_limit()) repair(all_, budget, kMendings);
}

void PricedSearch::polish(Budget& budget) {
  if (from_.empty()) {
    from_ = best_values_;
    from_cost_ = best_cost_;
  }
  apply(all_, from_);
  const Total best_before = best_cost_;
  if (!polish_within_shares(budget)) polish_at_prices(budget);
  choose_where_to_go_on(best_before);
}

void PricedSearch::join(const Values& theirs, const Values& common) {
  Values both = theirs;
  if (found() && !common.empty()) {
    for (std::size_t i = 0; i < both.size(); ++i) {
      if (theirs[i] == common[i]) both[i] = best_values_[i];
    }
  }
  apply(all_, theirs);
  keep_if_best();
  apply(all_, both);
  keep_if_best();
  from_ = best_values_;
  from_cost_ = best_cost_;
  since_gain_ = 0;
}

void PricedSearch::polish_at_prices(Budget& budget) {
  const std::vector<std::uint32_t> window = pick_window();
  MemoryPrices prices(core_);
  if (prices_.limited()) prices.set(shaken_prices());
  solve_priced(window, prices, budget);
  if (!state_.within_limit()) repair(window, budget, kRepairs);
}

// Without prices: what is within the shares keeps the limit.
bool PricedSearch::polish_within_shares(Budget& budget) {
  if (all_.size() > kSmallCore || random_() % 2 == 0) return false;
  const std::size_t most = kFewestCompetitors + random_() % kMoreCompetitors;
  std::vector<std::uint32_t> nodes = shares_.competitors(prices_.values(), most, random_);
  if (nodes.empty()) return false;
  const std::vector<std::uint32_t> window = around(std::move(nodes), window_size());
  const std::vector<Usage> shares = shares_.divide(window, values_, random_);
  allowed_.resize(all_.size());
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
  since_gain_ = best_cost_ < best_before ? 0 : since_gain_ + 1;
  const double slack = all_.size() <= kSmallCore ? kSlackOfSmall * unit(random_) : 0;
  const auto most = static_cast<double>(from_cost_) + slack * static_cast<double>(best_cost_);
  if (state_.feasible() && static_cast<double>(state_.cost()) <= most) {
    from_ = values_;
    from_cost_ = state_.cost();
  }
  if (since_gain_ <= kSearchPatience) return;
  from_ = best_values_;
  from_cost_ = best_cost_;
  since_gain_ = 0;
}

}  // namespace optile::placement
