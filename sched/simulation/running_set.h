// The ops that run at one moment of a simulated step, how much of each is left and how fast it goes
// beside the others. One thread.
#pragma once

#include <vector>

#include "perfmodel/synthetic/interference.h"
#include "sched/cores/core_map.h"
#include "sched/simulation/load_levels.h"
#include "sched/strategies/step_strategy.h"

namespace optile::sched {

struct SimulatedOp {
  int node = 0;
  int lane = 0;
  int span = 0;  // index into the timeline
  int threads_per_core = 1;
  int tile_count = 1;
  double memory_share = 0;
  double draw = 0;
  double speed = 1;  // of the slowest of its cores
  bool crosses_nodes = false;
  Placement placement = Placement::kOwnCores;
  CoreSet cores;
  CoreSet tiles;
};

struct EndedOp {
  int node = 0;
  int lane = 0;
  int span = 0;
  Placement placement = Placement::kOwnCores;
};

class RunningSet {
 public:
  RunningSet(const CoreMap& map, const perfmodel::Interference& model);

  void clear();
  // `seconds`: what it would take alone on cores of speed 1.
  void add(const SimulatedOp& op, double seconds);
  // Time until the first of them ends; the set is not empty. Settles how fast everybody goes.
  double time_to_next();
  // Lets time pass and moves out those that end within it, in the order in which they began.
  void advance(double seconds, std::vector<EndedOp>* ended);

  std::size_t size() const { return order_.size(); }
  bool empty() const { return order_.empty(); }
  // Whether an op that has cores of its own, or one on siblings, has any of these. Ops of one of
  // these placements never share a core with each other.
  bool own_on(const CoreSet& cores) const { return own_.overlaps(cores); }
  bool siblings_on(const CoreSet& cores) const { return siblings_.overlaps(cores); }

 private:
  void settle();
  void locate(SimulatedOp* op) const;
  void forget(const SimulatedOp& op);

  // One that runs: small, since all of them are gone through at every event.
  struct Progress {
    std::size_t op = 0;  // index into ops_
    double left = 0;     // seconds alone
    double slowdown = 1;
  };

  const CoreMap* map_;
  perfmodel::Interference model_;
  int largest_node_ = 1;  // cores of it
  std::vector<SimulatedOp> ops_;
  std::vector<std::size_t> unused_;  // of ops_
  std::vector<Progress> order_;      // in which they began
  LoadLevels threads_;
  LoadLevels tile_users_;
  CoreSet own_;
  CoreSet siblings_;
  bool settled_ = false;
};

}  // namespace optile::sched
