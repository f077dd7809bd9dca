#include "placement/search/annealing.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "placement/methods/partitioners.h"

namespace optile::placement {
namespace {

constexpr double kExcessPrice = 4;
constexpr int kMovesPerLook = 16;
constexpr int kLargestGroup = 24;
constexpr int kLongestStretch = 48;

class Chain {
 public:
  Chain(const SearchSpace& space, CostModel& model, std::vector<DeviceId> start, std::uint64_t seed)
      : space_(space),
        model_(model),
        random_(seed),
        at_(std::move(start)),
        moved_(space.kept, at_),
        rank_(space.order.size()),
        groups_(space.neighbours, space.order.size()) {
    for (std::size_t i = 0; i < space.order.size(); ++i) {
      rank_[static_cast<std::size_t>(space.order[i])] = static_cast<int>(i);
    }
  }

  Candidate run(const Cooling& cooling, Budget& budget) {
    Score now = model_.score(at_);
    model_.keep();
    budget.count();
    Candidate best{at_, now};
    const double scale = std::isfinite(now.cost) ? std::max(now.cost, 1e-300) : 1;
    const auto energy = [&](const Score& score) {
      return score.cost + kExcessPrice * scale * score.excess;
    };
    double current = energy(now);
    Metropolis metropolis(kMovesPerLook);
    metropolis.start(cooling, scale);
    while (metropolis.goes_on(budget)) {
      if (!propose() || !keeps()) continue;
      changed_.clear();
      for (auto& [unit, device] : moves_) {
        std::swap(at(unit), device);
        changed_.push_back(unit);
      }
      const Score score = model_.score_changed(at_, changed_);
      budget.count();
      const double after = energy(score);
      if (metropolis.accepts(current, after, random_)) {
        current = after;
        model_.keep();
        moved_.add(more_moved_);
        const Candidate reached{{}, score};
        if (reached < best) best = {at_, score};
        continue;
      }
      for (auto& [unit, device] : moves_) std::swap(at(unit), device);
    }
    return best;
  }

 private:
  DeviceId& at(UnitId unit) { return at_[static_cast<std::size_t>(unit)]; }
  int below(std::size_t end) { return random_.below(static_cast<int>(end)); }
  bool allowed(UnitId unit, DeviceId to) const {
    return space_.units.time_ms(unit, to) < std::numeric_limits<double>::infinity();
  }
  DeviceId target(UnitId unit) {
    const auto near = space_.neighbours.of(unit);
    if (!near.empty() && random_.below(4) != 0) {
      const DeviceId device = at(near[static_cast<std::size_t>(below(near.size()))]);
      if (device != at(unit)) return device;
    }
    return space_.devices[static_cast<std::size_t>(below(space_.devices.size()))];
  }
  void add(UnitId unit, DeviceId to) {
    if (at(unit) != to && allowed(unit, to)) moves_.emplace_back(unit, to);
  }

  // Fills `moves_`; false where nothing would change.
  bool propose() {
    moves_.clear();
    const UnitId unit = below(at_.size());
    const int kind = random_.below(16);
    if (kind < 8) {
      add(unit, target(unit));
    } else if (kind < 10) {
      const UnitId other = below(at_.size());
      if (at(unit) != at(other) && allowed(unit, at(other)) && allowed(other, at(unit))) {
        moves_ = {{unit, at(other)}, {other, at(unit)}};
      }
    } else if (kind < 14) {
      group(unit);
    } else {
      stretch(unit);
    }
    return !moves_.empty();
  }
  bool keeps() {
    more_moved_ = 0;
    for (const auto& [unit, to] : moves_) more_moved_ += space_.kept.change(unit, at(unit), to);
    return moved_.allows(more_moved_);
  }
  // Connected units of one device.
  void group(UnitId unit) {
    const int drawn = 2 + random_.below(1 + random_.below(kLargestGroup));
    const DeviceId to = target(unit);
    const auto on = [this](UnitId one) { return at(one); };
    for (const UnitId one : groups_.draw(unit, drawn, random_, on)) add(one, to);
  }
  // Neighbours in the order, whatever device they are on.
  void stretch(UnitId unit) {
    const DeviceId to = target(unit);
    const auto first = static_cast<std::size_t>(rank_[static_cast<std::size_t>(unit)]);
    const int drawn = 2 + random_.below(1 + random_.below(kLongestStretch));
    const auto length = static_cast<std::size_t>(drawn);
    for (std::size_t i = first; i < std::min(first + length, space_.order.size()); ++i) {
      add(space_.order[i], to);
    }
  }

  const SearchSpace& space_;
  CostModel& model_;
  Random random_;
  std::vector<DeviceId> at_;
  MovedNodes moved_;
  std::int64_t more_moved_ = 0;  // by `moves_`
  std::vector<int> rank_;
  ConnectedGroups groups_;
  std::vector<std::pair<UnitId, DeviceId>> moves_;
  std::vector<UnitId> changed_;  // of them
};

}  // namespace

Candidate search(const SearchSpace& space, const CostModelMaker& make,
                 const std::vector<std::vector<DeviceId>>& starts, const Request& request,
                 Budget& budget) {
  std::vector<Candidate> pool;
  const std::unique_ptr<CostModel> model = make();
  for (const auto& start : starts) {
    pool.push_back({start, model->score(start)});
    budget.count();
  }
  std::stable_sort(pool.begin(), pool.end());
  const Cooling coolings[kRounds][kChains] = {
      {{0.1, 0.0005}, {0.03, 0.0005}, {0.2, 0.001}, {0.01, 0.0002}},
      {{0.02, 0.0003}, {0.01, 0.0002}, {0.03, 0.0005}, {0.005, 0.0001}},
      {{0.005, 0.0001}, {0.002, 0.00005}, {0.01, 0.0001}, {0.001, 0.00002}}};
  anneal_in_rounds(pool, coolings, {{0.5, 0.6, 0.98}, 1, 3}, request.seed, budget,
                   [&](const std::vector<DeviceId>& start, const Cooling& cooling,
                       std::uint64_t seed, Budget& part) {
                     const std::unique_ptr<CostModel> mine = make();
                     return Chain(space, *mine, start, seed).run(cooling, part);
                   });
  return pool.front();
}

std::vector<DeviceId> search_kept(SearchSpace space, const CostModelMaker& make,
                                  const Request& request, Budget& budget) {
  space.kept = PreviousPlacement(space.units, request.kept, request.most_moved);
  std::vector<DeviceId> start = space.kept.start(space.units, space.neighbours, space.devices);
  make_runnable(space.units, start);
  return search(space, make, {std::move(start)}, request, budget).assignment;
}

}  // namespace optile::placement
