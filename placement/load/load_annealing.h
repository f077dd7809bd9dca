// Annealing of E1 with single moves, swaps, relays and moves of connected groups. One object is one
// chain, of one thread; the same seed, start and number of evaluations give the same end.
#pragma once

#include <utility>
#include <vector>

#include "placement/budget.h"
#include "placement/kept.h"
#include "placement/load/load_state.h"
#include "placement/neighbours.h"
#include "placement/random.h"

namespace optile::placement {

struct LoadCooling {
  double start = 0.02;  // temperatures, as fractions of the cost at the start
  double end = 0.0002;
  int doublings = 4;  // the energy is the norm of the loads with the exponent 2^doublings
};

class LoadAnnealing {
 public:
  // The start has to hold what `kept` allows, and so does then whatever is found.
  LoadAnnealing(const LoadProblem& problem, const Neighbours& neighbours, const Kept& kept,
                std::vector<DeviceId> start, std::uint64_t seed);

  // From the state as it is, until the budget is spent; counts each candidate there.
  void run(const LoadCooling& cooling, Budget& budget);
  // Steepest falls of single moves until none is left.
  void descend(Budget& budget);

  bool found() const { return found_; }
  double best_cost() const { return best_cost_; }
  // The best feasible one; the start where there was none.
  const std::vector<DeviceId>& best() const { return best_; }
  // Where it stands, feasible or not.
  const std::vector<DeviceId>& last() const { return state_.assignment(); }

 private:
  double energy() const;
  double probed_energy(UnitId unit, DeviceId to) const;
  double power(double load) const;
  double root(double sum) const;
  bool allowed(UnitId unit, DeviceId to) const;
  bool keeps(std::int64_t more_moved) const {
    return more_moved <= 0 || moved_ + more_moved <= kept_->most();
  }
  void apply(UnitId unit, DeviceId to);
  UnitId pick_unit();
  DeviceId pick_target(UnitId unit);
  bool accept(double difference);
  void single(Budget& budget);
  void swap(Budget& budget);
  void relay(Budget& budget);
  void group(Budget& budget);
  void gather(UnitId unit, int most);
  void settle(double before, Budget& budget);
  void note();

  const LoadProblem* problem_;
  const Neighbours* neighbours_;
  const Kept* kept_;
  std::int64_t moved_ = 0;  // nodes that are not where they were
  double move_price_ = 0;   // of one of them, in the scale
  LoadState state_;
  Random random_;
  int doublings_ = 4;
  bool looks_at_busiest_ = false;
  double scale_ = 1;  // what loads are divided by before they are raised
  double temperature_ = 0;
  double energy_ = 0;
  bool found_ = false;
  double best_cost_ = 0;
  std::vector<DeviceId> best_;
  std::vector<UnitId> since_best_;  // what has moved, as long as that is less than all
  std::vector<std::pair<UnitId, DeviceId>> relayed_;
  std::vector<UnitId> group_;
  std::vector<DeviceId> homes_;  // of the group, before it moved
  std::vector<int> in_group_;
  int groups_ = 0;
};

}  // namespace optile::placement
