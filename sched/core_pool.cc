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

CorePool::CorePool(const CoreMap& map)
    : map_(&map),
      tile_idle_(map.tiles.size(), 0),
      node_idle_(at(map.nodes), 0),
      node_tiles_with_idle_(at(map.nodes), 0),
      node_full_tiles_(at(map.nodes), 0) {
  for (int slot = 0; slot < map.cores; ++slot) change(slot, true);
}

void CorePool::change(int slot, bool to_idle) {
  const int tile = map_->tile_of[at(slot)];
  const CoreMap::Tile& shape = map_->tiles[at(tile)];
  const int step = to_idle ? 1 : -1;
  if (to_idle) {
    idle_set_.add(slot);
  } else {
    idle_set_.remove(slot);
  }
  const int before = tile_idle_[at(tile)];
  const int after = before + step;
  tile_idle_[at(tile)] = after;
  idle_ += step;
  node_idle_[at(shape.node)] += step;
  const int with_idle = static_cast<int>(after > 0) - static_cast<int>(before > 0);
  const int full = static_cast<int>(after == shape.cores) - static_cast<int>(before == shape.cores);
  tiles_with_idle_ += with_idle;
  node_tiles_with_idle_[at(shape.node)] += with_idle;
  full_tiles_ += full;
  node_full_tiles_[at(shape.node)] += full;
}

bool CorePool::fits(Case which) const {
  if (which.width < 1 || which.width > idle_) return false;
  switch (which.binding) {
    case Binding::kSpread:
      return which.width <= tiles_with_idle_;
    case Binding::kCompact:
      return !map_->space.pairs || which.width / 2 <= full_tiles_;
    case Binding::kMixed:
      return which.width / 2 <= full_tiles_;
    case Binding::kNone:
      break;
  }
  return true;
}

int CorePool::node_room(int node, Case which) const {
  if (which.binding == Binding::kSpread) return node_tiles_with_idle_[at(node)];
  if (!map_->space.pairs) return node_idle_[at(node)];
  // Pairs: a whole tile for every two threads, and the odd one anywhere.
  const int full = node_full_tiles_[at(node)];
  return 2 * full + static_cast<int>(node_idle_[at(node)] > 2 * full);
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
  int taken = 0;
  for (int slot = shape.first; slot < shape.first + shape.cores && taken < most; ++slot) {
    if (!idle_set_.has(slot)) continue;
    change(slot, false);
    out->add(slot);
    ++taken;
  }
  return taken;
}

// Whole tiles that the team fills; then, for what is left of it, the tile with the least idle cores
// that suffices; then whatever there is.
void CorePool::take_compact(int width, int node, CoreSet* out) {
  const int tiles = static_cast<int>(map_->tiles.size());
  const auto here = [&](int tile) {
    return node == kAnyNode || map_->tiles[at(tile)].node == node;
  };
  for (int tile = 0; tile < tiles && width > 0; ++tile) {
    const int size = map_->tiles[at(tile)].cores;
    if (here(tile) && tile_idle_[at(tile)] == size && size <= width) {
      width -= take_from_tile(tile, size, out);
    }
  }
  while (width > 0) {
    int best = -1;
    for (int tile = 0; tile < tiles; ++tile) {
      const int idle = tile_idle_[at(tile)];
      if (!here(tile) || idle == 0) continue;
      const int best_idle = best < 0 ? 0 : tile_idle_[at(best)];
      const bool better = best_idle < width ? idle > best_idle : idle >= width && idle < best_idle;
      if (best < 0 || better) best = tile;
    }
    if (best < 0) return;
    width -= take_from_tile(best, width, out);
  }
}

// Tiles that nobody uses before those that another op sits on.
void CorePool::take_spread(int width, int node, CoreSet* out) {
  const int tiles = static_cast<int>(map_->tiles.size());
  for (const bool whole : {true, false}) {
    for (int tile = 0; tile < tiles && width > 0; ++tile) {
      const CoreMap::Tile& shape = map_->tiles[at(tile)];
      if (node != kAnyNode && shape.node != node) continue;
      const int idle = tile_idle_[at(tile)];
      const bool fitting = whole ? idle == shape.cores : idle > 0 && idle < shape.cores;
      // A whole tile that this op has just visited is not whole any more, and not to be visited.
      bool mine = false;
      for (int slot = shape.first; !whole && fitting && slot < shape.first + shape.cores; ++slot) {
        mine = mine || out->has(slot);
      }
      if (fitting && !mine) width -= take_from_tile(tile, 1, out);
    }
  }
}

void CorePool::take_any(int width, int node, CoreSet* out) {
  const int tiles = static_cast<int>(map_->tiles.size());
  for (int tile = 0; tile < tiles && width > 0; ++tile) {
    if (node == kAnyNode || map_->tiles[at(tile)].node == node) {
      width -= take_from_tile(tile, width, out);
    }
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
  cores.each([&](int slot) { change(slot, false); });
}

void CorePool::release(const CoreSet& cores) {
  cores.each([&](int slot) { change(slot, true); });
}

}  // namespace optile::sched
