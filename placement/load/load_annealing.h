// Annealing of E1 with single moves, swaps, relays and moves of connected groups. One object is one
// chain, of one thread; the same seed, start and number of evaluations give the same end.
#pragma once

#include <limits>
#include <utility>
#include <vector>

#include "placement/budget.h"
#include "placement/load/load_state.h"
#include "placement/neighbours.h"
#include "placement/previous_placement.h"
#include "placement/random.h"
#include "placement/search/metropolis.h"

namespace optile::placement {

struct LoadCooling {
  Cooling temperature = {0.02, 0.0002};
  int doublings = 4;  // the energy is the norm of the loads with the exponent 2^doublings
};

// What annealing makes small: a norm of the loads, memory beyond the caps, and a little for nodes
// that have moved.
class LoadEnergy {
 public:
  LoadEnergy(const LoadState& state, const PreviousPlacement& kept);
  LoadEnergy(const LoadEnergy&) = delete;
  LoadEnergy& operator=(const LoadEnergy&) = delete;

  // From now on, in the scale of the state's cost.
  void scale(int doublings);
  double scale() const { return scale_; }
  double of_state(std::int64_t moved) const;
  // With the unit on `to`, which was probed.
  double of_probed(UnitId unit, DeviceId to, std::int64_t moved) const;

 private:
  double power(double load) const;
  double root(double sum) const;
  double sum(double of_loads, double excess, std::int64_t moved) const;

  const LoadState& state_;
  double move_price_ = 0;  // of one node, in the scale
  int doublings_ = 4;
  double scale_ = 1;  // what loads are divided by before they are raised
};

// The best feasible assignment that a search has met.
class BestLoad {
 public:
  explicit BestLoad(std::vector<DeviceId> start);

  void moved(UnitId unit);
  void note(const LoadState& state);
  bool found() const { return found_; }
  double cost() const { return cost_; }
  const std::vector<DeviceId>& assignment() const { return assignment_; }

 private:
  bool found_ = false;
  double cost_ = std::numeric_limits<double>::infinity();
  std::vector<DeviceId> assignment_;
  std::vector<UnitId> since_;  // what has moved since, as long as that is less than all
};

class LoadAnnealing {
 public:
  // The start has to hold what `kept` allows, and so does then whatever is found.
  LoadAnnealing(const LoadProblem& problem, const Neighbours& neighbours,
                const PreviousPlacement& kept, std::vector<DeviceId> start, std::uint64_t seed);

  // From the state as it is, until the budget is spent; counts each candidate there.
  void run(const LoadCooling& cooling, Budget& budget);
  // Steepest falls of single moves until none is left.
  void descend(Budget& budget);

  bool found() const { return best_.found(); }
  double best_cost() const { return best_.cost(); }
  // The best feasible one; the start where there was none.
  const std::vector<DeviceId>& best() const { return best_.assignment(); }
  // Where it stands, feasible or not.
  const std::vector<DeviceId>& last() const { return state_.assignment(); }

 private:
  using Moves = std::vector<std::pair<UnitId, DeviceId>>;

  bool can_move(UnitId unit, DeviceId to) const;
  double probe(UnitId unit, DeviceId to, Budget& budget);
  void recount();
  void apply(UnitId unit, DeviceId to);
  UnitId pick_unit();
  DeviceId pick_target(UnitId unit);
  const std::vector<UnitId>& draw_group(UnitId unit, int most);
  void add_moves(const std::vector<UnitId>& group, DeviceId to);
  void single(Budget& budget);
  void swap(Budget& budget);
  void relay(Budget& budget);
  void group(Budget& budget);
  void try_moves(Budget& budget);

  const LoadProblem& problem_;
  const Neighbours& neighbours_;
  const PreviousPlacement& kept_;
  MovedNodes moved_;
  LoadState state_;
  LoadEnergy energy_;
  double now_ = 0;  // energy
  Random random_;
  Metropolis metropolis_;
  bool looks_at_busiest_ = false;
  BestLoad best_;
  ConnectedGroups groups_;
  Moves moves_;
  std::vector<DeviceId> homes_;  // of them, before they were made
};

}  // namespace optile::placement
