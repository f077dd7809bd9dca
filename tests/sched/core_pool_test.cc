#include "sched/core_pool.h"

#include <gtest/gtest.h>

#include <random>
#include <set>

#include "tests/sched/step_graphs.h"

namespace optile::sched {
namespace {

using perfmodel::Binding;
using perfmodel::Case;
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

TEST(CorePool, BindingsTakeTheirShapes) {
  const CoreMap map = map_of("knl");
  CorePool pool(map);
  EXPECT_EQ(tiles_of(map, pool.take({10, Binding::kCompact})).size(), 5u);
  EXPECT_EQ(tiles_of(map, pool.take({10, Binding::kSpread})).size(), 10u);
  const CoreSet mixed = pool.take({7, Binding::kMixed});
  EXPECT_EQ(mixed.count(), 7);
  EXPECT_EQ(tiles_of(map, mixed).size(), 4u);
  EXPECT_EQ(pool.idle(), 68 - 27);
}

TEST(CorePool, SpreadPrefersTilesThatNobodyUses) {
  const CoreMap map = map_of("l2:4 core:2 pu:1");
  CorePool pool(map);
  const CoreSet first = pool.take({2, Binding::kSpread});
  const CoreSet second = pool.take({2, Binding::kSpread});
  EXPECT_EQ(tiles_of(map, first).size() + tiles_of(map, second).size(), 4u);
  EXPECT_FALSE(pool.fits({2, Binding::kCompact}));  // no tile is whole
  EXPECT_TRUE(pool.fits({4, Binding::kSpread}));
}

TEST(CorePool, StaysWithinOneNodeWhereThatCanBe) {
  const CoreMap map = map_of("epyc-2x96");
  CorePool pool(map);
  for (int i = 0; i < 6; ++i) {
    EXPECT_EQ(nodes_of(map, pool.take({30, Binding::kCompact})).size(), 1u) << i;
  }
  EXPECT_EQ(pool.idle(), 12);
  EXPECT_EQ(pool.take({12, Binding::kCompact}).count(), 12);
}

TEST(CorePool, FillsTilesThatWouldOtherwiseBeSplit) {
  const CoreMap map = map_of("epyc-2x96");
  CorePool pool(map);
  const CoreSet five = pool.take({5, Binding::kCompact});
  // Three fit beside the five: no other tile is broken up for them.
  EXPECT_EQ(tiles_of(map, pool.take({3, Binding::kCompact})), tiles_of(map, five));
}

// Whatever was taken and given back, fits() and take() agree and no core is with two.
TEST(CorePool, FitsIsWhatTakeCanDo) {
  for (const char* machine : {"knl", "epyc-2x96", "xeon-snc", "hybrid", "core:4 pu:1"}) {
    const CoreMap map = map_of(machine);
    const std::vector<Case> cases = map.space.all();
    CorePool pool(map);
    std::mt19937_64 random(11);
    std::vector<CoreSet> held;
    for (int i = 0; i < 3000; ++i) {
      const Case which = cases[random() % cases.size()];
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

TEST(CoreMap, DisallowedCoresAreNotThere) {
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
