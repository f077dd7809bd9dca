#include "placement/load/load_annealing.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace optile::placement {
namespace {

constexpr double kExcessPrice = 4;  // of memory beyond a cap, in costs of the start
constexpr int kMovesPerLook = 256;  // at the temperature
constexpr int kMovesPerRecount = 1 << 20;
constexpr int kLargestGroup = 24;
constexpr int kLargestRelayed = 3;
constexpr int kTriesForUnit = 16;
constexpr double kCold = 0.005;  // where only the largest loads still count
// Of 16 moves; the rest are groups.
constexpr int kSingles = 10;
constexpr int kSwaps = 1;
constexpr int kRelays = 3;
// Of all moves that a kept placement allows: those that gain nothing are taken back.
constexpr double kMovesPrice = 1e-3;
constexpr double kImproves = 1e-12;
// Of the scale: its powers would only be denormal numbers, which are slow.
constexpr double kNothing = 0.01;

}  // namespace

LoadAnnealing::LoadAnnealing(const LoadProblem& problem, const Neighbours& neighbours,
                             const Kept& kept, std::vector<DeviceId> start, std::uint64_t seed)
    : problem_(&problem),
      neighbours_(&neighbours),
      kept_(&kept),
      moved_(kept.moved(start)),
      move_price_(kept.most() > 0 ? kMovesPrice / static_cast<double>(kept.most()) : 0),
      state_(problem, start),
      random_(seed),
      best_cost_(std::numeric_limits<double>::infinity()),
      best_(std::move(start)),
      in_group_(static_cast<std::size_t>(problem.units.size())) {
  note();
}

void LoadAnnealing::note() {
  const double cost = state_.cost();
  if (cost >= best_cost_ * (1 - kImproves) || !state_.feasible()) return;
  best_cost_ = cost;
  found_ = true;
  if (since_best_.size() < best_.size()) {
    for (const UnitId unit : since_best_) {
      best_[static_cast<std::size_t>(unit)] = state_.device(unit);
    }
  } else {
    best_ = state_.assignment();
  }
  since_best_.clear();
}

void LoadAnnealing::apply(UnitId unit, DeviceId to) {
  moved_ += kept_->change(unit, state_.device(unit), to);
  state_.move(unit, to);
  if (since_best_.size() < best_.size()) since_best_.push_back(unit);
}

double LoadAnnealing::power(double load) const {
  double value = load / scale_;
  if (value < kNothing) return 0;
  for (int i = 0; i < doublings_; ++i) value *= value;
  return value;
}

double LoadAnnealing::root(double sum) const {
  for (int i = 0; i < doublings_; ++i) sum = std::sqrt(sum);
  return sum * scale_;
}

double LoadAnnealing::energy() const {
  double sum = 0;
  for (const double load : state_.load()) sum += power(load);
  return root(sum) + kExcessPrice * scale_ * state_.excess() +
         move_price_ * scale_ * static_cast<double>(moved_);
}

double LoadAnnealing::probed_energy(UnitId unit, DeviceId to) const {
  double sum = 0;
  const std::vector<double>& load = state_.load();
  const std::vector<double>& changes = state_.changes();
  for (std::size_t d = 0; d < load.size(); ++d) sum += power(load[d] + changes[d]);
  const std::int64_t moved = moved_ + kept_->change(unit, state_.device(unit), to);
  return root(sum) + kExcessPrice * scale_ * state_.probed_excess(unit, to) +
         move_price_ * scale_ * static_cast<double>(moved);
}

bool LoadAnnealing::allowed(UnitId unit, DeviceId to) const {
  return problem_->units.time_ms(unit, to) < std::numeric_limits<double>::infinity();
}

// Every other one from the device with the largest load, which is what has to become less.
UnitId LoadAnnealing::pick_unit() {
  const int count = problem_->units.size();
  UnitId unit = random_.below(count);
  if (!looks_at_busiest_ || random_.below(2) == 0) return unit;
  const std::vector<double>& load = state_.load();
  const auto busiest =
      static_cast<DeviceId>(std::max_element(load.begin(), load.end()) - load.begin());
  for (int tries = 0; tries < kTriesForUnit && state_.device(unit) != busiest; ++tries) {
    unit = random_.below(count);
  }
  return unit;
}

DeviceId LoadAnnealing::pick_target(UnitId unit) {
  const auto near = neighbours_->of(unit);
  if (!near.empty() && random_.below(8) != 0) {
    const UnitId other =
        near[static_cast<std::size_t>(random_.below(static_cast<int>(near.size())))];
    if (state_.device(other) != state_.device(unit)) return state_.device(other);
    if (random_.below(4) != 0) return state_.device(unit);
  }
  return random_.below(problem_->cluster.size());
}

bool LoadAnnealing::accept(double difference) {
  if (difference <= 0) return true;
  if (temperature_ <= 0) return false;
  const double power = difference / temperature_;
  return power < 40 && random_.unit() < std::exp(-power);
}

void LoadAnnealing::single(Budget& budget) {
  const UnitId unit = pick_unit();
  const DeviceId to = pick_target(unit);
  if (to == state_.device(unit) || !allowed(unit, to)) return;
  if (!keeps(kept_->change(unit, state_.device(unit), to))) return;
  budget.count();
  state_.probe(unit, to);
  const double after = probed_energy(unit, to);
  if (!accept(after - energy_)) return;
  apply(unit, to);
  energy_ = after;
  note();
}

// Takes the moves of `group_` back unless what they lead to is accepted.
void LoadAnnealing::settle(double before, Budget& budget) {
  budget.count();
  energy_ = energy();
  if (accept(energy_ - before)) {
    note();
    return;
  }
  for (std::size_t i = 0; i < group_.size(); ++i) apply(group_[i], homes_[i]);
  energy_ = before;
}

void LoadAnnealing::swap(Budget& budget) {
  const UnitId one = pick_unit();
  const UnitId other = random_.below(problem_->units.size());
  const DeviceId home = state_.device(one);
  const DeviceId there = state_.device(other);
  if (home == there || !allowed(one, there) || !allowed(other, home)) return;
  if (!keeps(kept_->change(one, home, there) + kept_->change(other, there, home))) return;
  group_.assign({one, other});
  homes_.assign({home, there});
  apply(one, there);
  apply(other, home);
  settle(energy_, budget);
}

// Neighbours of neighbours on one device.
void LoadAnnealing::gather(UnitId unit, int most) {
  ++groups_;
  group_.assign({unit});
  in_group_[static_cast<std::size_t>(unit)] = groups_;
  const DeviceId home = state_.device(unit);
  for (int tries = 0; tries < 3 * most && static_cast<int>(group_.size()) < most; ++tries) {
    const UnitId from =
        group_[static_cast<std::size_t>(random_.below(static_cast<int>(group_.size())))];
    const auto near = neighbours_->of(from);
    if (near.empty()) continue;
    const UnitId next =
        near[static_cast<std::size_t>(random_.below(static_cast<int>(near.size())))];
    int& mark = in_group_[static_cast<std::size_t>(next)];
    if (mark == groups_ || state_.device(next) != home) continue;
    mark = groups_;
    group_.push_back(next);
  }
}

// A small group goes where it has a neighbour, and another one leaves from there.
void LoadAnnealing::relay(Budget& budget) {
  const UnitId first = pick_unit();
  const DeviceId to = pick_target(first);
  const DeviceId home = state_.device(first);
  if (to == home) return;
  UnitId second = first;
  for (int tries = 0; tries < kTriesForUnit && state_.device(second) != to; ++tries) {
    second = random_.below(problem_->units.size());
  }
  if (state_.device(second) != to) return;
  const DeviceId onward = pick_target(second);
  if (onward == to) return;
  relayed_.clear();
  const auto add = [&](UnitId unit, DeviceId there) {
    gather(unit, 1 + random_.below(kLargestRelayed));
    for (const UnitId one : group_) {
      if (allowed(one, there)) relayed_.emplace_back(one, there);
    }
  };
  add(first, to);
  add(second, onward);
  std::int64_t more = 0;
  for (const auto& [unit, there] : relayed_)
    more += kept_->change(unit, state_.device(unit), there);
  if (relayed_.empty() || !keeps(more)) return;
  group_.clear();
  homes_.clear();
  for (const auto& [unit, there] : relayed_) {
    group_.push_back(unit);
    homes_.push_back(state_.device(unit));
    apply(unit, there);
  }
  settle(energy_, budget);
}

void LoadAnnealing::group(Budget& budget) {
  const UnitId unit = pick_unit();
  const int size = 2 + random_.below(random_.below(kLargestGroup) + 1);
  gather(unit, std::min(size, problem_->units.size()));
  DeviceId to = state_.device(unit);
  for (std::size_t i = 0; i < group_.size() && to == state_.device(unit); ++i) {
    to = pick_target(group_[i]);
  }
  if (to == state_.device(unit)) return;
  std::erase_if(group_, [&](UnitId one) { return !allowed(one, to); });
  if (group_.empty()) return;
  const DeviceId home = state_.device(group_.front());
  std::int64_t more = 0;
  for (const UnitId one : group_) more += kept_->change(one, home, to);
  if (!keeps(more)) return;
  homes_.assign(group_.size(), home);
  for (const UnitId one : group_) apply(one, to);
  settle(energy_, budget);
}

void LoadAnnealing::run(const LoadCooling& cooling, Budget& budget) {
  if (problem_->cluster.size() < 2) return;
  doublings_ = cooling.doublings;
  // With a number of evaluations an answer stays what it was.
  looks_at_busiest_ = cooling.start <= kCold && !budget.limits_evaluations();
  scale_ = std::max(state_.cost(), std::numeric_limits<double>::min());
  state_.recount();
  energy_ = energy();
  const double ratio = std::log(cooling.end / cooling.start);
  // A move that is not possible counts for nothing: a bound of its own ends a chain of those.
  std::uint64_t rounds = 0;
  while (!budget.spent()) {
    if (rounds % kMovesPerLook == 0) {
      temperature_ = scale_ * cooling.start * std::exp(ratio * budget.used());
      if (!budget.limits_time() && rounds / 64 > budget.evaluations_left() + 1024) break;
    }
    if (++rounds % kMovesPerRecount == 0) {
      state_.recount();
      energy_ = energy();
    }
    const int kind = random_.below(16);
    if (kind < kSingles) {
      single(budget);
    } else if (kind < kSingles + kSwaps) {
      swap(budget);
    } else if (kind < kSingles + kSwaps + kRelays) {
      relay(budget);
    } else {
      group(budget);
    }
  }
}

void LoadAnnealing::descend(Budget& budget) {
  doublings_ = 5;
  scale_ = std::max(state_.cost(), std::numeric_limits<double>::min());
  state_.recount();
  energy_ = energy();
  for (bool better = true; better && !budget.spent_now();) {
    better = false;
    for (UnitId unit = 0; unit < problem_->units.size() && !budget.spent(); ++unit) {
      DeviceId best = state_.device(unit);
      double lowest = energy_ * (1 - kImproves);
      for (DeviceId to = 0; to < problem_->cluster.size(); ++to) {
        if (to == state_.device(unit) || !allowed(unit, to)) continue;
        if (!keeps(kept_->change(unit, state_.device(unit), to))) continue;
        budget.count();
        state_.probe(unit, to);
        const double after = probed_energy(unit, to);
        if (after >= lowest) continue;
        lowest = after;
        best = to;
      }
      if (best == state_.device(unit)) continue;
      apply(unit, best);
      energy_ = lowest;
      better = true;
      note();
    }
  }
}

}  // namespace optile::placement
