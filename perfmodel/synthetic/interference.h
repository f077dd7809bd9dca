// What ops that run at the same time cost each other. Pure; any thread. The numbers are a model of
// a machine, not measurements of one: docs/results/simulator.md says where each comes from.
#pragma once

#include <span>

namespace optile::perfmodel {

// What one op is to others while it runs.
struct Presence {
  double memory_share = 0.0;   // OpInstance::memory_share
  double draw = 0.0;           // of the memory bandwidth; memory_draw()
  double shared_tiles = 0.0;   // share of its tiles that another op uses too, 0 … 1
  int threads_per_core = 1;    // its own on each of its cores
  int threads_on_cores = 1;    // most threads of anybody on one of its cores
  bool crosses_nodes = false;  // on more NUMA nodes than its width needs
};

struct Interference {
  // Memory: an op that would use all bandwidth and meets another such op takes twice as long.
  double contention = 1.0;
  // Two ops on one tile divide its cache; full weight for an op that only waits for memory.
  double tile_sharing = 0.3;
  // Work that a core gets done with threads of two ops over that with one thread, where it has two
  // hardware threads; the simulator takes at most 1 where it has one.
  double two_threads_gain = 1.25;
  // Beyond two threads a core does (2/n)^this of what two do: caches and waiting loops.
  double crowding = 1.25;
  // A team with n threads on every core takes n^this times as long as with one.
  double team_crowding = 0.8;
  // Memory of another node, for an op that only waits for memory.
  double node_crossing = 0.25;

  // A machine on which ops never disturb each other: for tests and bounds.
  static Interference none();

  // How many times longer than alone the op takes in the presence of a total draw (its own is part
  // of it). At least 1, but for an op alone exactly its team's own crowding.
  double slowdown(const Presence& op, double total_draw) const;
};

// Of an op at a case that takes `seconds` and could take `fastest_seconds` in another.
double memory_draw(double memory_share, double fastest_seconds, double seconds);

}  // namespace optile::perfmodel
