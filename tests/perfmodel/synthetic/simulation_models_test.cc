// The models that a simulated machine is made of: cases, interference, noise.
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "perfmodel/machine/built_in_machines.h"
#include "perfmodel/synthetic/configuration_times.h"
#include "perfmodel/synthetic/interference.h"
#include "perfmodel/synthetic/noise.h"

namespace optile::perfmodel {
namespace {

TEST(BuiltInMachines, HaveExpectedTopology) {
  struct Expected {
    const char* name;
    std::size_t cores, tiles, units;
    int nodes, packages;
  };
  for (const Expected& one :
       {Expected{"knl", 68, 34, 272, 1, 1}, Expected{"epyc-2x96", 192, 24, 384, 2, 2},
        Expected{"xeon-snc", 128, 3, 256, 3, 1}, Expected{"grace-144", 144, 2, 144, 2, 2},
        Expected{"hybrid", 24, 5, 32, 1, 1}}) {
    const auto machine = make_machine_source(one.name)->read();
    ASSERT_TRUE(machine.ok()) << one.name;
    EXPECT_EQ(machine.value().cores.size(), one.cores);
    EXPECT_EQ(machine.value().tiles.size(), one.tiles);
    EXPECT_EQ(machine.value().units.size(), one.units);
    EXPECT_EQ(machine.value().numa_nodes, one.nodes);
    EXPECT_EQ(machine.value().packages, one.packages);
    EXPECT_EQ(machine.value().allowed_cores(), static_cast<int>(one.cores));
  }
  const Machine xeon = built_in_machine("xeon-snc").value();
  EXPECT_EQ(xeon.tiles[1].cores.size(), 43u);
  EXPECT_EQ(xeon.tiles[2].cores.size(), 42u);
  const Machine hybrid = built_in_machine("hybrid").value();
  EXPECT_EQ(hybrid.cores.front().kind, 1);
  EXPECT_LT(hybrid.cores.back().speed, 1.0);
  EXPECT_EQ(built_in_machine_names().size(), 5u);
}

TEST(CaseSpace, MatchesPaperOnKnightsLanding) {
  const CaseSpace knl = case_space(built_in_machine("knl").value());
  EXPECT_EQ(knl, (CaseSpace{68, 34, true}));
  int spread = 0;
  int compact = 0;
  int mixed = 0;
  for (const Configuration which : knl.all()) {
    spread += which.binding == Binding::kSpread;
    compact += which.binding == Binding::kCompact;
    mixed += which.binding == Binding::kMixed;
  }
  EXPECT_EQ(spread, 34);
  EXPECT_EQ(compact, 34);
  EXPECT_EQ(mixed, 33);  // 3, 5 … 67
  EXPECT_TRUE(knl.admits({45, Binding::kMixed}));
  EXPECT_FALSE(knl.admits({45, Binding::kCompact}));
}

TEST(CaseSpace, CoversEveryWidthOfEveryMachine) {
  for (const char* name : {"knl", "epyc-2x96", "xeon-snc", "grace-144", "hybrid", "core:4 pu:1",
                           "l2:6 core:1 pu:1", "core:1 pu:1"}) {
    const CaseSpace space = case_space(make_machine_source(name)->read().value());
    std::vector<bool> has(static_cast<std::size_t>(space.cores) + 1, false);
    for (const Configuration which : space.all()) has[static_cast<std::size_t>(which.width)] = true;
    for (int width = 1; width <= space.cores; ++width) {
      EXPECT_TRUE(has[static_cast<std::size_t>(width)]) << name << " " << width;
    }
  }
}

TEST(ConfigurationTimes, FindsBestConfiguration) {
  ConfigurationTimes times;
  EXPECT_EQ(times.best().width, 0);
  times.set({4, Binding::kCompact}, 2.0);
  times.set({3, Binding::kSpread}, 1.0);
  times.set({4, Binding::kSpread}, 1.0);
  EXPECT_EQ(times.best(), (Configuration{3, Binding::kSpread}));
  EXPECT_EQ(times.best_of_width(4), (Configuration{4, Binding::kSpread}));
  EXPECT_EQ(times.at({2, Binding::kCompact}), kInfinity);
  EXPECT_EQ(times.at({4, Binding::kNone}), kInfinity);
  EXPECT_EQ(times.at({-1, Binding::kSpread}), kInfinity);
}

TEST(Interference, DoesNotSlowOpThatRunsAlone) {
  const Interference model;
  Presence op;
  op.memory_share = 1;
  op.draw = 1;
  EXPECT_DOUBLE_EQ(model.slowdown(op, 1.0), 1.0);
}

TEST(Interference, GrowsWithEveryCause) {
  const Interference model;
  Presence op;
  op.memory_share = 0.5;
  op.draw = 0.4;
  const double alone = model.slowdown(op, 0.4);
  EXPECT_NEAR(model.slowdown(op, 0.9) - alone, model.contention * 0.5 * 0.5, 1e-12);
  Presence sharing = op;
  sharing.shared_tiles = 1;
  EXPECT_NEAR(model.slowdown(sharing, 0.4), 1 + model.tile_sharing * 0.5, 1e-12);
  Presence crossing = op;
  crossing.crosses_nodes = true;
  EXPECT_GT(model.slowdown(crossing, 0.4), alone);
  double last = alone;
  for (int threads = 2; threads <= 8; threads *= 2) {
    Presence crowded = op;
    crowded.threads_on_cores = threads;
    EXPECT_GT(model.slowdown(crowded, 0.4), last);
    last = model.slowdown(crowded, 0.4);
  }
  const Interference none = Interference::none();
  crossing.threads_on_cores = 2;
  EXPECT_DOUBLE_EQ(none.slowdown(crossing, 5.0), 1.0);
}

TEST(MemoryDraw, IsFullAtFastestConfiguration) {
  EXPECT_DOUBLE_EQ(memory_draw(0.6, 2.0, 2.0), 0.6);
  EXPECT_DOUBLE_EQ(memory_draw(0.6, 2.0, 8.0), 0.15);
}

TEST(Noise, HasGivenSpreadAndIsDeterministic) {
  const Noise noise{42, 0.1};
  double sum = 0;
  double squares = 0;
  constexpr int kDraws = 20000;
  for (int i = 0; i < kDraws; ++i) {
    const double logarithm = std::log(noise.factor(3, static_cast<std::uint64_t>(i)));
    sum += logarithm;
    squares += logarithm * logarithm;
  }
  EXPECT_NEAR(sum / kDraws, 0.0, 0.004);
  EXPECT_NEAR(std::sqrt(squares / kDraws), 0.1, 0.004);
  EXPECT_EQ(noise.factor(3, 5), noise.factor(3, 5));
  EXPECT_NE(noise.factor(3, 5), noise.factor(4, 5));
  EXPECT_EQ(Noise{}.factor(1, 1), 1.0);
}

}  // namespace
}  // namespace optile::perfmodel
