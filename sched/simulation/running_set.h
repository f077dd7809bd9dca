// The ops that run at one moment of a simulated step, how much of each is left and how fast it goes
// beside the others. One thread.
#pragma once

#include <vector>

#include "perfmodel/interference.h"
#include "sched/core_map.h"
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

class RunningSet {
 public:
  RunningSet(const CoreMap& map, const perfmodel::Interference& model);

  void clear();
  // `seconds`: what it would take alone on cores of speed 1.
  void add(SimulatedOp op, double seconds);
  // Time until the first of them ends; the set is not empty. Settles how fast everybody goes.
  double time_to_next();
  // Lets time pass and moves out those that end within it, in the order in which they began.
  void advance(double seconds, std::vector<SimulatedOp>* ended);

  std::size_t size() const { return ops_.size(); }
  bool empty() const { return ops_.empty(); }
  // Most threads of ops with cores of their own, and of ops on siblings, on one of these cores.
  int own_on(const CoreSet& cores) const { return own_.most(cores); }
  int siblings_on(const CoreSet& cores) const { return siblings_.most(cores); }

 private:
  void settle();
  void forget(const SimulatedOp& op);

  const CoreMap* map_;
  const perfmodel::Interference* model_;
  std::vector<SimulatedOp> ops_;
  std::vector<double> left_;      // seconds alone, by op
  std::vector<double> slowdown_;  // by op
  LoadLevels threads_;
  LoadLevels own_;
  LoadLevels siblings_;
  LoadLevels tile_users_;
  bool settled_ = false;
};

}  // namespace optile::sched
