// The allowed cores of a machine, numbered so that decisions are cheap: slot 0 is the first core of
// the first tile, the cores of a tile follow each other, faster kinds come first and then NUMA node
// after node. Immutable once built; any thread.
#pragma once

#include <cstdint>
#include <vector>

#include "base/result.h"
#include "perfmodel/machine/machine.h"
#include "perfmodel/synthetic/configuration_times.h"
#include "sched/cores/core_set.h"

namespace optile::sched {

struct CoreMap {
  struct Tile {
    int first = 0;  // slot
    int cores = 1;  // slots first … first + cores - 1
    int node = 0;   // 0 … nodes - 1
  };

  int cores = 1;
  int nodes = 1;             // NUMA nodes that have cores of ours
  int packages = 1;          // sockets of the machine
  int hardware_threads = 1;  // that every core has at least
  perfmodel::CaseSpace space;
  std::vector<Tile> tiles;
  std::vector<int> tile_of;  // by slot
  // By slot: the cores of its tile as CoreSet::each_group() wants them.
  std::vector<std::uint64_t> tile_bits;
  std::vector<double> speed;        // by slot, 1 = the fastest kind
  std::vector<int> node_cores;      // by node
  std::vector<CoreSet> node_tiles;  // by node: its tiles, as bits
  int smallest_tile = 1;            // cores of it
  bool one_speed = true;            // all cores are of the fastest kind
};

// Fails for a machine without allowed cores and for one with more than kMaxCores.
base::Result<CoreMap> make_core_map(const perfmodel::Machine& machine);

}  // namespace optile::sched
