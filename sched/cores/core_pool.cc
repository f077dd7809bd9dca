#include "sched/cores/core_pool.h"

#include <algorithm>

#include "base/at.h"

namespace optile::sched {
namespace {

using base::at;

using perfmodel::Binding;
using perfmodel::Configuration;

constexpr int kAnyNode = -1;
constexpr int kNoTile = -1;

}  // namespace

CorePool::CorePool(const CoreMap& map)
    : map_(&map), tile_idle_(map.tiles.size(), 0), next_(map.tiles.size(), kNoTile) {
  if (map.nodes > 1) node_idle_.resize(at(map.nodes), 0);
  int largest = 0;
  for (const CoreMap::Tile& tile : map.tiles) largest = std::max(largest, tile.cores);
  chains_.resize(at(largest) + 1);
  CoreSet all;
  all.add_range(0, map.cores);
  release(all);
}

void CorePool::count_tiles() {
  all_.tiles_with_idle = some_idle_.count();
  all_.full_tiles = all_idle_.count();
}

CoreSet CorePool::within(const CoreSet& tiles, int node) const {
  CoreSet here = tiles;
  if (node != kAnyNode) here &= map_->node_tiles[at(node)];
  return here;
}

int CorePool::node_room(int node, Configuration which) const {
  const CoreSet& tiles = map_->node_tiles[at(node)];
  if (which.binding == Binding::kSpread) return some_idle_.count_common(tiles);
  const int idle = node_idle_[at(node)];
  if (!map_->space.pairs) return idle;
  // Pairs: a whole tile for every two threads, and the odd one anywhere.
  const int in_full_tiles = 2 * all_idle_.count_common(tiles);
  return in_full_tiles + static_cast<int>(idle > in_full_tiles);
}

// The node with the least room that suffices: others keep room for wider teams.
int CorePool::node_for(Configuration which) const {
  if (map_->nodes == 1) return kAnyNode;
  int best = kAnyNode;
  int least = 0;
  for (int node = 0; node < map_->nodes; ++node) {
    const int room = node_room(node, which);
    if (room < which.width || (best != kAnyNode && room >= least)) continue;
    best = node;
    least = room;
  }
  return best;
}

// Of a tile with idle cores; how many the team has of it now.
int CorePool::take_from_tile(int tile, int most, CoreSet* out) {
  const CoreMap::Tile& shape = map_->tiles[at(tile)];
  const int idle = tile_idle_[at(tile)];
  if (most >= idle) {
    idle_set_.move_range(shape.first, shape.cores, out);
    tile_idle_[at(tile)] = 0;
    some_idle_.remove(tile);
    most = idle;
  } else {
    idle_set_.move_first(shape.first, most, out);
    tile_idle_[at(tile)] = idle - most;
  }
  if (idle == shape.cores) all_idle_.remove(tile);
  if (!node_idle_.empty()) node_idle_[at(shape.node)] -= most;
  return most;
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
      if (!node_idle_.empty()) node_idle_[at(shape.node)] -= shape.cores;
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
  if (width == 0) return;
  int best = kNoTile;
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
  if (best == kNoTile) return;
  if (best_idle >= width) {
    take_from_tile(best, width, out);
  } else {
    take_pieces(width, best_idle, node, out);
  }
}

// The same where no tile suffices and the most that one has idle is `largest`: of the tiles with
// most, the first, until one suffices. All tiles are looked at once, not once for every piece.
void CorePool::take_pieces(int width, int largest, int node, CoreSet* out) {
  std::fill_n(chains_.begin(), largest + 1, Chain());
  within(some_idle_, node).each([&](int tile) {
    Chain& chain = chains_[at(tile_idle_[at(tile)])];
    (chain.first == kNoTile ? chain.first : next_[at(chain.last)]) = tile;
    chain.last = tile;
    next_[at(tile)] = kNoTile;
  });
  for (int most = largest; width > 0 && most > 0;) {
    if (chains_[at(most)].first == kNoTile) {
      --most;
      continue;
    }
    int idle = std::min(width, most);
    while (chains_[at(idle)].first == kNoTile) ++idle;  // no further than `most`
    Chain& chain = chains_[at(idle)];
    width -= take_from_tile(chain.first, width, out);
    chain.first = next_[at(chain.first)];
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

CoreSet CorePool::take(Configuration which) {
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
  all_.idle -= which.width;
  count_tiles();
  return cores;
}

void CorePool::release(const CoreSet& cores) {
  idle_set_ |= cores;
  cores.each_group(map_->tile_bits, [this](int slot, std::uint64_t bits) {
    const int tile = map_->tile_of[at(slot)];
    const CoreMap::Tile& shape = map_->tiles[at(tile)];
    const int more = count_bits(bits);
    all_.idle += more;
    if (!node_idle_.empty()) node_idle_[at(shape.node)] += more;
    const int idle = tile_idle_[at(tile)] += more;
    some_idle_.add(tile);
    if (idle == shape.cores) all_idle_.add(tile);
  });
  count_tiles();
}

}  // namespace optile::sched
