// Which cores are idle, and which of them a case takes: tiles are filled or visited as its binding
// says, within one NUMA node where that can be, whole tiles kept whole for others. Owned by one
// strategy; one thread.
#pragma once

#include <vector>

#include "perfmodel/profile/configuration.h"
#include "sched/cores/core_map.h"
#include "sched/cores/core_set.h"

namespace optile::sched {

class CorePool {
 public:
  explicit CorePool(const CoreMap& map);  // `map` outlives the pool

  int idle() const { return all_.idle; }
  const CoreSet& idle_cores() const { return idle_set_; }
  bool is_idle() const { return all_.idle == map_->cores; }  // nothing is taken

  // Whether take() would succeed. Constant time: it is asked for every candidate.
  bool fits(perfmodel::Configuration which) const {
    using perfmodel::Binding;
    if (which.width < 1 || which.width > all_.idle) return false;
    switch (which.binding) {
      case Binding::kSpread:
        return which.width <= all_.tiles_with_idle;
      case Binding::kCompact:
        return !map_->space.pairs || which.width / 2 <= all_.full_tiles;
      case Binding::kMixed:
        return which.width / 2 <= all_.full_tiles;
      case Binding::kNone:
        break;
    }
    return true;
  }
  // Only when fits(): takes these cores.
  CoreSet take(perfmodel::Configuration which);
  void release(const CoreSet& cores);

 private:
  int node_for(perfmodel::Configuration which) const;  // -1: no node has room, or there is one
  int node_room(int node, perfmodel::Configuration which) const;
  int take_whole(int width, int node, CoreSet* out);
  void take_compact(int width, int node, CoreSet* out);
  void take_pieces(int width, int largest, int node, CoreSet* out);
  void take_spread(int width, int node, CoreSet* out);
  void take_any(int width, int node, CoreSet* out);
  int take_from_tile(int tile, int most, CoreSet* out);
  CoreSet within(const CoreSet& tiles, int node) const;
  void count_tiles();

  struct Counts {
    int idle = 0;
    int tiles_with_idle = 0;
    int full_tiles = 0;  // whose cores are all idle
  };
  // Tiles in their order, one after the other by `next_`.
  struct Chain {
    int first = -1;
    int last = -1;
  };

  const CoreMap* map_;
  CoreSet idle_set_;
  std::vector<int> tile_idle_;
  // Tiles as bits: with an idle core, and all of whose cores are idle.
  CoreSet some_idle_;
  CoreSet all_idle_;
  Counts all_;
  std::vector<int> node_idle_;  // by NUMA node; empty where there is one
  // Of take_pieces() alone, so that it needs no memory of its own.
  std::vector<Chain> chains_;  // by idle cores
  std::vector<int> next_;      // by tile
};

}  // namespace optile::sched
