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
constexpr int kDoublingsOfDescent = 5;
// Of the scale: its powers would only be denormal numbers, which are slow.
constexpr double kNothing = 0.01;
// Of the temperature: what is worse by more is refused at once.
constexpr double kHopeless = 40;

}  // namespace

LoadEnergy::LoadEnergy(const LoadState& state, const PreviousPlacement& kept)
    : state_(state),
      move_price_(kept.most() > 0 ? kMovesPrice / static_cast<double>(kept.most()) : 0) {}

void LoadEnergy::scale(int doublings) {
  doublings_ = doublings;
  scale_ = std::max(state_.cost(), std::numeric_limits<double>::min());
}

double LoadEnergy::power(double load) const {
  double value = load / scale_;
  if (value < kNothing) return 0;
  for (int i = 0; i < doublings_; ++i) value *= value;
  return value;
}

double LoadEnergy::root(double sum) const {
  for (int i = 0; i < doublings_; ++i) sum = std::sqrt(sum);
  return sum * scale_;
}

double LoadEnergy::sum(double of_loads, double excess, std::int64_t moved) const {
  return root(of_loads) + kExcessPrice * scale_ * excess +
         move_price_ * scale_ * static_cast<double>(moved);
}

double LoadEnergy::of_state(std::int64_t moved) const {
  double loads = 0;
  for (const double load : state_.load()) loads += power(load);
  return sum(loads, state_.excess(), moved);
}

double LoadEnergy::of_probed(UnitId unit, DeviceId to, std::int64_t moved) const {
  double loads = 0;
  const std::vector<double>& load = state_.load();
  const std::vector<double>& changes = state_.changes();
  for (std::size_t d = 0; d < load.size(); ++d) loads += power(load[d] + changes[d]);
  return sum(loads, state_.probed_excess(unit, to), moved);
}

BestLoad::BestLoad(std::vector<DeviceId> start) : assignment_(std::move(start)) {}

void BestLoad::moved(UnitId unit) {
  if (since_.size() < assignment_.size()) since_.push_back(unit);
}

void BestLoad::note(const LoadState& state) {
  const double cost = state.cost();
  if (cost >= cost_ * (1 - kImproves) || !state.feasible()) return;
  cost_ = cost;
  found_ = true;
  if (since_.size() < assignment_.size()) {
    for (const UnitId unit : since_) {
      assignment_[static_cast<std::size_t>(unit)] = state.device(unit);
    }
  } else {
    assignment_ = state.assignment();
  }
  since_.clear();
}

LoadAnnealing::LoadAnnealing(const LoadProblem& problem, const Neighbours& neighbours,
                             const PreviousPlacement& kept, std::vector<DeviceId> start,
                             std::uint64_t seed)
    : problem_(problem),
      neighbours_(neighbours),
      kept_(kept),
      moved_(kept, start),
      state_(problem, start),
      energy_(state_, kept),
      random_(seed),
      metropolis_(kMovesPerLook, kHopeless),
      best_(std::move(start)),
      groups_(neighbours, static_cast<std::size_t>(problem.units.size())) {
  best_.note(state_);
}

void LoadAnnealing::recount() {
  state_.recount();
  now_ = energy_.of_state(moved_.count());
}

void LoadAnnealing::apply(UnitId unit, DeviceId to) {
  moved_.add(kept_.change(unit, state_.device(unit), to));
  state_.move(unit, to);
  best_.moved(unit);
}

// To another device, where it can run and may go.
bool LoadAnnealing::can_move(UnitId unit, DeviceId to) const {
  return to != state_.device(unit) && problem_.can_run(unit, to) &&
         moved_.allows(kept_.change(unit, state_.device(unit), to));
}

// The energy after the move.
double LoadAnnealing::probe(UnitId unit, DeviceId to, Budget& budget) {
  budget.count();
  state_.probe(unit, to);
  const std::int64_t more = kept_.change(unit, state_.device(unit), to);
  return energy_.of_probed(unit, to, moved_.count() + more);
}

// Every other one from the device with the largest load, which is what has to become less.
UnitId LoadAnnealing::pick_unit() {
  const int count = problem_.units.size();
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
  const auto near = neighbours_.of(unit);
  if (!near.empty() && random_.below(8) != 0) {
    const UnitId other =
        near[static_cast<std::size_t>(random_.below(static_cast<int>(near.size())))];
    if (state_.device(other) != state_.device(unit)) return state_.device(other);
    if (random_.below(4) != 0) return state_.device(unit);
  }
  return random_.below(problem_.cluster.size());
}

void LoadAnnealing::single(Budget& budget) {
  const UnitId unit = pick_unit();
  const DeviceId to = pick_target(unit);
  if (!can_move(unit, to)) return;
  const double after = probe(unit, to, budget);
  if (!metropolis_.accepts(now_, after, random_)) return;
  apply(unit, to);
  now_ = after;
  best_.note(state_);
}

// Makes `moves_`, and takes them back unless what they lead to is accepted.
void LoadAnnealing::try_moves(Budget& budget) {
  std::int64_t more = 0;
  for (const auto& [unit, to] : moves_) more += kept_.change(unit, state_.device(unit), to);
  if (moves_.empty() || !moved_.allows(more)) return;
  homes_.clear();
  for (const auto& [unit, to] : moves_) {
    homes_.push_back(state_.device(unit));
    apply(unit, to);
  }
  budget.count();
  const double before = std::exchange(now_, energy_.of_state(moved_.count()));
  if (metropolis_.accepts(before, now_, random_)) {
    best_.note(state_);
    return;
  }
  for (std::size_t i = 0; i < moves_.size(); ++i) apply(moves_[i].first, homes_[i]);
  now_ = before;
}

void LoadAnnealing::swap(Budget& budget) {
  const UnitId one = pick_unit();
  const UnitId other = random_.below(problem_.units.size());
  const DeviceId home = state_.device(one);
  const DeviceId there = state_.device(other);
  if (home == there || !problem_.can_run(one, there) || !problem_.can_run(other, home)) return;
  moves_ = {{one, there}, {other, home}};
  try_moves(budget);
}

const std::vector<UnitId>& LoadAnnealing::draw_group(UnitId unit, int most) {
  return groups_.draw(unit, most, random_, [this](UnitId one) { return state_.device(one); });
}

// Those of the drawn group that can run there.
void LoadAnnealing::add_moves(const std::vector<UnitId>& group, DeviceId to) {
  for (const UnitId one : group) {
    if (problem_.can_run(one, to)) moves_.emplace_back(one, to);
  }
}

// A small group goes where it has a neighbour, and another one leaves from there.
void LoadAnnealing::relay(Budget& budget) {
  const UnitId first = pick_unit();
  const DeviceId to = pick_target(first);
  if (to == state_.device(first)) return;
  UnitId second = first;
  for (int tries = 0; tries < kTriesForUnit && state_.device(second) != to; ++tries) {
    second = random_.below(problem_.units.size());
  }
  if (state_.device(second) != to) return;
  const DeviceId onward = pick_target(second);
  if (onward == to) return;
  moves_.clear();
  for (const auto& [unit, there] : {std::pair(first, to), std::pair(second, onward)}) {
    add_moves(draw_group(unit, 1 + random_.below(kLargestRelayed)), there);
  }
  try_moves(budget);
}

void LoadAnnealing::group(Budget& budget) {
  const UnitId unit = pick_unit();
  const int size = 2 + random_.below(random_.below(kLargestGroup) + 1);
  const std::vector<UnitId>& group = draw_group(unit, std::min(size, problem_.units.size()));
  DeviceId to = state_.device(unit);
  for (std::size_t i = 0; i < group.size() && to == state_.device(unit); ++i) {
    to = pick_target(group[i]);
  }
  if (to == state_.device(unit)) return;
  moves_.clear();
  add_moves(group, to);
  try_moves(budget);
}

void LoadAnnealing::run(const LoadCooling& cooling, Budget& budget) {
  if (problem_.cluster.size() < 2) return;
  // With a number of evaluations an answer stays what it was.
  looks_at_busiest_ = cooling.temperature.start <= kCold && !budget.limits_evaluations();
  energy_.scale(cooling.doublings);
  recount();
  metropolis_.start(cooling.temperature, energy_.scale());
  while (metropolis_.goes_on(budget)) {
    if (metropolis_.rounds() % kMovesPerRecount == 0) recount();
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
  energy_.scale(kDoublingsOfDescent);
  recount();
  for (bool better = true; better && !budget.spent_now();) {
    better = false;
    for (UnitId unit = 0; unit < problem_.units.size() && !budget.spent(); ++unit) {
      DeviceId best = state_.device(unit);
      double lowest = now_ * (1 - kImproves);
      for (DeviceId to = 0; to < problem_.cluster.size(); ++to) {
        if (!can_move(unit, to)) continue;
        const double after = probe(unit, to, budget);
        if (after >= lowest) continue;
        lowest = after;
        best = to;
      }
      if (best == state_.device(unit)) continue;
      apply(unit, best);
      now_ = lowest;
      better = true;
      best_.note(state_);
    }
  }
}

}  // namespace optile::placement
