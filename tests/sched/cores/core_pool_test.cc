#include "sched/cores/core_pool.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>
#include <utility>
#include <vector>

#include "tests/sched/strategies/step_graphs.h"

namespace optile::sched {
namespace {

using perfmodel::Binding;
using perfmodel::Configuration;
using step_graphs::map_of;

std::set<int> tiles_of(const CoreMap& map, const CoreSet& cores) {
  std::set<int> tiles;
  cores.each([&](int slot) { tiles.insert(map.tile_of[static_cast<std::size_t>(slot)]); });
  return tiles;
}

std::set<int> nodes_of(const CoreMap& map, const CoreSet& cores) {
  std::set<int> nodes;
  for (const int tile : tiles_of(map, cores)) {
    nodes.insert(map.tiles[static_cast<std::size_t>(tile)].node);
  }
  return nodes;
}

TEST(CorePool, PlacesTeamsByBinding) {
  const CoreMap map = map_of("knl");
  CorePool pool(map);
  EXPECT_EQ(tiles_of(map, pool.take({10, Binding::kCompact})).size(), 5u);
  EXPECT_EQ(tiles_of(map, pool.take({10, Binding::kSpread})).size(), 10u);
  const CoreSet mixed = pool.take({7, Binding::kMixed});
  EXPECT_EQ(mixed.count(), 7);
  EXPECT_EQ(tiles_of(map, mixed).size(), 4u);
  EXPECT_EQ(pool.idle(), 68 - 27);
}

TEST(CorePool, SpreadPrefersUnusedTiles) {
  const CoreMap map = map_of("l2:4 core:2 pu:1");
  CorePool pool(map);
  const CoreSet first = pool.take({2, Binding::kSpread});
  const CoreSet second = pool.take({2, Binding::kSpread});
  EXPECT_EQ(tiles_of(map, first).size() + tiles_of(map, second).size(), 4u);
  EXPECT_FALSE(pool.fits({2, Binding::kCompact}));  // no tile is whole
  EXPECT_TRUE(pool.fits({4, Binding::kSpread}));
}

TEST(CorePool, KeepsTeamWithinOneNumaNodeWherePossible) {
  const CoreMap map = map_of("epyc-2x96");
  CorePool pool(map);
  for (int i = 0; i < 6; ++i) {
    EXPECT_EQ(nodes_of(map, pool.take({30, Binding::kCompact})).size(), 1u) << i;
  }
  EXPECT_EQ(pool.idle(), 12);
  EXPECT_EQ(pool.take({12, Binding::kCompact}).count(), 12);
}

TEST(CorePool, FillsPartlyUsedTileBeforeSplittingAnother) {
  const CoreMap map = map_of("epyc-2x96");
  CorePool pool(map);
  const CoreSet five = pool.take({5, Binding::kCompact});
  // Three fit beside the five: no other tile is broken up for them.
  EXPECT_EQ(tiles_of(map, pool.take({3, Binding::kCompact})), tiles_of(map, five));
}

// The rule of compact placement, word for word and tile after tile: whole tiles in their order that
// the team fills; then the tile with the least idle cores that suffices, else the one with most.
class PlainPool {
 public:
  explicit PlainPool(const CoreMap& map) : map_(&map), idle_(at(map.tiles.size())) {
    for (int slot = 0; slot < map.cores; ++slot) {
      idle_[at(map.tile_of[at(slot)])].insert(slot);
    }
  }

  std::set<int> compact(int width, int node) {
    std::set<int> taken;
    for (std::size_t tile = 0; tile < idle_.size(); ++tile) {
      const int cores = map_->tiles[tile].cores;
      if (within(tile, node) && idle(tile) == cores && cores <= width) {
        width -= take(tile, cores, &taken);
      }
    }
    while (width > 0) {
      const std::size_t tile = best(width, node);
      width -= take(tile, std::min(width, idle(tile)), &taken);
    }
    return taken;
  }
  void give_back(const std::set<int>& slots) {
    for (const int slot : slots) idle_[at(map_->tile_of[at(slot)])].insert(slot);
  }

 private:
  static std::size_t at(auto index) { return static_cast<std::size_t>(index); }
  int idle(std::size_t tile) const { return static_cast<int>(idle_[tile].size()); }
  bool within(std::size_t tile, int node) const {
    return node < 0 || map_->tiles[tile].node == node;
  }
  std::size_t best(int width, int node) const {
    std::size_t best = idle_.size();
    for (std::size_t tile = 0; tile < idle_.size(); ++tile) {
      if (!within(tile, node) || idle(tile) == 0) continue;
      const auto rank = [&](std::size_t one) {
        const bool suffices = idle(one) >= width;
        return std::pair(suffices, suffices ? -idle(one) : idle(one));
      };
      if (best == idle_.size() || rank(tile) > rank(best)) best = tile;
    }
    return best;
  }
  int take(std::size_t tile, int count, std::set<int>* out) {
    for (int i = 0; i < count; ++i) out->insert(idle_[tile].extract(idle_[tile].begin()));
    return count;
  }

  const CoreMap* map_;
  std::vector<std::set<int>> idle_;  // by tile
};

// Tiles of one size and of many, some of them across two words of a set; one node and several.
TEST(CorePool, CompactMatchesReferencePlacement) {
  for (const char* machine : {"knl", "epyc-2x96", "xeon-snc", "grace-144", "hybrid",
                              "numa:2 l3:3 core:5 pu:2", "pack:2 numa:1 l3:24 core:8 pu:2"}) {
    SCOPED_TRACE(machine);
    const CoreMap map = map_of(machine);
    CorePool pool(map);
    PlainPool plain(map);
    std::mt19937_64 random(5);
    std::vector<CoreSet> held;
    for (int i = 0; i < 2000; ++i) {
      const int stride = map.space.pairs ? 2 : 1;
      const Configuration which{
          stride * (1 + static_cast<int>(random() % 40) % (map.cores / stride)), Binding::kCompact};
      if (!pool.fits(which) || random() % 4 == 0) {
        if (held.empty()) continue;
        std::swap(held[random() % held.size()], held.back());
        pool.release(held.back());
        std::set<int> slots;
        held.back().each([&](int slot) { slots.insert(slot); });
        plain.give_back(slots);
        held.pop_back();
        continue;
      }
      held.push_back(pool.take(which));
      const std::set<int> nodes = nodes_of(map, held.back());
      const std::set<int> expected =
          plain.compact(which.width, nodes.size() == 1 ? *nodes.begin() : -1);
      std::set<int> taken;
      held.back().each([&](int slot) { taken.insert(slot); });
      ASSERT_EQ(taken, expected);
    }
  }
}

// Whatever was taken and given back, fits() and take() agree and no core is with two.
TEST(CorePool, FitsAgreesWithTake) {
  for (const char* machine : {"knl", "epyc-2x96", "xeon-snc", "hybrid", "core:4 pu:1"}) {
    const CoreMap map = map_of(machine);
    const std::vector<Configuration> cases = map.space.all();
    CorePool pool(map);
    std::mt19937_64 random(11);
    std::vector<CoreSet> held;
    for (int i = 0; i < 3000; ++i) {
      const Configuration which = cases[random() % cases.size()];
      if (pool.fits(which) && which.width * 2 <= map.cores + 2) {
        const CoreSet before = pool.idle_cores();
        held.push_back(pool.take(which));
        EXPECT_EQ(held.back().count(), which.width) << machine;
        EXPECT_TRUE(before.contains(held.back()));
        if (which.binding == Binding::kSpread) {
          EXPECT_EQ(static_cast<int>(tiles_of(map, held.back()).size()), which.width);
        }
      } else if (!held.empty()) {
        const std::size_t gone = random() % held.size();
        pool.release(held[gone]);
        held.erase(held.begin() + static_cast<std::ptrdiff_t>(gone));
      }
      int taken = 0;
      for (const CoreSet& one : held) taken += one.count();
      ASSERT_EQ(pool.idle(), map.cores - taken);
      ASSERT_EQ(pool.idle_cores().count(), pool.idle());
    }
  }
}

TEST(CoreMap, ExcludesDisallowedCores) {
  perfmodel::Machine machine = perfmodel::built_in_machine("knl").value();
  for (const int unit : machine.cores[3].units) {
    machine.units[static_cast<std::size_t>(unit)].allowed = false;
  }
  const CoreMap map = make_core_map(machine).value();
  EXPECT_EQ(map.cores, 67);
  EXPECT_FALSE(map.space.pairs);
  EXPECT_EQ(map.tiles[1].cores, 1);
  for (auto& unit : machine.units) unit.allowed = false;
  EXPECT_FALSE(make_core_map(machine).ok());
}

}  // namespace
}  // namespace optile::sched
