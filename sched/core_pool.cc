#include "sched/core_pool.h"

#include <algorithm>

namespace optile::sched {
namespace {

using perfmodel::Binding;
using perfmodel::Case;

constexpr int kAnyNode = -1;

std::size_t at(int index) {
  return static_cast<std::size_t>(index);
}

}  // namespace

CorePool::CorePool(const CoreMap& map) : map_(&map), tile_idle_(map.tiles.size(), 0) {
  if (map.nodes > 1) nodes_.resize(at(map.nodes));
  idle_set_.add_range(0, map.cores);
  for (std::size_t tile = 0; tile < map.tiles.size(); ++tile) {
    change_tile(static_cast<int>(tile), map.tiles[tile].cores);
  }
}

// What is counted about a tile `by` more of whose cores are idle now.
void CorePool::change_tile(int tile, int by) {
  const CoreMap::Tile& shape = map_->tiles[at(tile)];
  const int before = tile_idle_[at(tile)];
  const int after = before + by;
  tile_idle_[at(tile)] = after;
  const int with_idle = static_cast<int>(after > 0) - static_cast<int>(before > 0);
  const int full = static_cast<int>(after == shape.cores) - static_cast<int>(before == shape.cores);
  all_.change(by, with_idle, full);
  if (!nodes_.empty()) nodes_[at(shape.node)].change(by, with_idle, full);
  if (with_idle != 0) after > 0 ? some_idle_.add(tile) : some_idle_.remove(tile);
  if (full != 0) full > 0 ? all_idle_.add(tile) : all_idle_.remove(tile);
}

// All of these cores become idle (1) or stop being so (-1).
void CorePool::change(const CoreSet& cores, int direction) {
  for (int slot = cores.next(0); slot >= 0;) {
    const int tile = map_->tile_of[at(slot)];
    const CoreMap::Tile& shape = map_->tiles[at(tile)];
    change_tile(tile, direction * cores.count_range(shape.first, shape.cores));
    slot = cores.next(shape.first + shape.cores);
  }
}

CoreSet CorePool::within(const CoreSet& tiles, int node) const {
  CoreSet here = tiles;
  if (node != kAnyNode) here &= map_->node_tiles[at(node)];
  return here;
}

int CorePool::node_room(int node, Case which) const {
  const Counts& counts = nodes_[at(node)];
  if (which.binding == Binding::kSpread) return counts.tiles_with_idle;
  if (!map_->space.pairs) return counts.idle;
  // Pairs: a whole tile for every two threads, and the odd one anywhere.
  return 2 * counts.full_tiles + static_cast<int>(counts.idle > 2 * counts.full_tiles);
}

// The node with the least room that suffices: others keep room for wider teams.
int CorePool::node_for(Case which) const {
  if (map_->nodes == 1) return kAnyNode;
  int best = kAnyNode;
  for (int node = 0; node < map_->nodes; ++node) {
    const int room = node_room(node, which);
    if (room >= which.width && (best == kAnyNode || room < node_room(best, which))) best = node;
  }
  return best;
}

int CorePool::take_from_tile(int tile, int most, CoreSet* out) {
  const CoreMap::Tile& shape = map_->tiles[at(tile)];
  const int taken = std::min(most, tile_idle_[at(tile)]);
  if (taken == shape.cores) {
    idle_set_.remove_range(shape.first, shape.cores);
    out->add_range(shape.first, shape.cores);
  } else {
    int slot = shape.first;
    for (int i = 0; i < taken; ++i) {
      slot = idle_set_.next(slot);
      idle_set_.remove(slot);
      out->add(slot);
    }
  }
  change_tile(tile, -taken);
  return taken;
}

// Idle tiles as long as the team fills them; returns how many threads have a place now. All at
// once: wide teams take dozens.
int CorePool::take_whole(int width, int node, CoreSet* out) {
  CoreSet tiles;
  int taken = 0;
  within(all_idle_, node).each_while([&](int tile) {
    const CoreMap::Tile& shape = map_->tiles[at(tile)];
    if (shape.cores <= width - taken) {
      taken += shape.cores;
      tiles.add(tile);
      out->add_range(shape.first, shape.cores);
      tile_idle_[at(tile)] = 0;
      all_.change(-shape.cores, -1, -1);
      if (!nodes_.empty()) nodes_[at(shape.node)].change(-shape.cores, -1, -1);
    }
    return width - taken >= map_->smallest_tile;
  });
  idle_set_ -= *out;
  some_idle_ -= tiles;
  all_idle_ -= tiles;
  return taken;
}

// Whole tiles that the team fills; then, for what is left of it, the tile with the least idle cores
// that suffices; then whatever there is.
void CorePool::take_compact(int width, int node, CoreSet* out) {
  if (width >= map_->smallest_tile) width -= take_whole(width, node, out);
  while (width > 0) {
    int best = -1;
    int best_idle = 0;
    within(some_idle_, node).each_while([&](int tile) {
      const int idle = tile_idle_[at(tile)];
      const bool better = best_idle < width ? idle > best_idle : idle >= width && idle < best_idle;
      if (better) {
        best = tile;
        best_idle = idle;
      }
      return best_idle != width;
    });
    if (best < 0) return;
    width -= take_from_tile(best, width, out);
  }
}

// Tiles that nobody uses before those that another op sits on.
void CorePool::take_spread(int width, int node, CoreSet* out) {
  const CoreSet whole = within(all_idle_, node);
  const auto take_one = [&](int tile) {
    width -= take_from_tile(tile, 1, out);
    return width > 0;
  };
  if (width > 0) whole.each_while(take_one);
  if (width <= 0) return;
  CoreSet divided = within(some_idle_, node);
  divided -= whole;
  divided.each_while(take_one);
}

void CorePool::take_any(int width, int node, CoreSet* out) {
  const CoreSet tiles = within(some_idle_, node);
  for (int tile = tiles.next(0); tile >= 0 && width > 0; tile = tiles.next(tile + 1)) {
    width -= take_from_tile(tile, width, out);
  }
}

CoreSet CorePool::take(Case which) {
  CoreSet cores;
  const int node = node_for(which);
  switch (which.binding) {
    case Binding::kSpread:
      take_spread(which.width, node, &cores);
      break;
    case Binding::kCompact:
      take_compact(which.width, node, &cores);
      break;
    case Binding::kMixed:
      take_compact(which.width - 1, node, &cores);
      take_compact(1, node, &cores);
      break;
    case Binding::kNone:
      take_any(which.width, node, &cores);
      break;
  }
  return cores;
}

void CorePool::take(const CoreSet& cores) {
  idle_set_ -= cores;
  change(cores, -1);
}

void CorePool::release(const CoreSet& cores) {
  idle_set_ |= cores;
  change(cores, 1);
}

}  // namespace optile::sched
