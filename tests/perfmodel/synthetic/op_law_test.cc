#include "perfmodel/synthetic/op_law.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "tests/perfmodel/machine/machines.h"

namespace optile::perfmodel {
namespace {

int minima(const OpLaw& law, const Machine& machine) {
  const CaseSpace space = case_space(machine);
  const ConfigurationTimes times = law_times(law, machine);
  int found = 0;
  const auto at = [&](int width) { return times.at(times.best_of_width(width)); };
  for (int width = 1; width <= space.cores; ++width) {
    const bool below_left = width == 1 || at(width) < at(width - 1);
    const bool below_right = width == space.cores || at(width) <= at(width + 1);
    found += below_left && below_right;
  }
  return found;
}

TEST(OpLaw, ConvexMinimumBalancesWorkAndOverhead) {
  const Machine machine = knl();
  for (const int best : {2, 10, 26, 44, 67}) {
    OpLaw law;
    law.serial = 1e-3;
    law.per_thread = 10e-6;
    law.parallel = law.per_thread * best * best;
    EXPECT_EQ(law_times(law, machine).best().width, best);
    EXPECT_EQ(minima(law, machine), 1);
  }
}

TEST(OpLaw, FlatGainsNothingBeyondKnee) {
  OpLaw law{CurveFamily::kFlat, 1e-4, 8e-3, 0, 0.25, 0};
  const Machine machine = knl();
  const double at_knee = law_seconds(law, machine, {17, Binding::kSpread});
  EXPECT_DOUBLE_EQ(law_seconds(law, machine, {68, Binding::kCompact}), at_knee);
  EXPECT_GT(law_seconds(law, machine, {16, Binding::kSpread}), at_knee);
}

TEST(OpLaw, SawToothPenalisesHalfFilledTiles) {
  OpLaw law{CurveFamily::kSawTooth, 0, 60e-3, 20e-6, 0.4, 0};
  const Machine machine = knl();
  const double odd = law_seconds(law, machine, {41, Binding::kMixed});
  EXPECT_GT(odd, law_seconds(law, machine, {40, Binding::kCompact}));
  EXPECT_GT(odd, law_seconds(law, machine, {42, Binding::kCompact}));
}

TEST(OpLaw, CliffOccursOnlyAtSocketBoundary) {
  OpLaw law{CurveFamily::kCliff, 1e-3, 200e-3, 0, 0.5, 0};
  Machine two = read("pack:2 l3:2 core:8 pu:1");
  two.packages = 2;
  for (std::size_t i = 0; i < two.tiles.size(); ++i) two.tiles[i].package = i < 2 ? 0 : 1;
  const double before = law_seconds(law, two, {16, Binding::kCompact});
  // Half as dear again, for 17 threads that get the work done in 200 / 17 ms.
  EXPECT_DOUBLE_EQ(law_seconds(law, two, {16, Binding::kCompact}), 1e-3 + 200e-3 / 16);
  EXPECT_DOUBLE_EQ(law_seconds(law, two, {17, Binding::kCompact}), (1e-3 + 200e-3 / 17) * 1.5);
  const Machine one = read("pack:1 l3:4 core:8 pu:1");
  EXPECT_LT(law_seconds(law, one, {17, Binding::kCompact}), before);
}

TEST(OpLaw, TwoMinimaLawsHaveTwoMinima) {
  for (const NamedLaw& named : standard_laws()) {
    if (named.law.family == CurveFamily::kTwoMinima) {
      EXPECT_EQ(minima(named.law, knl()), 2) << named.name;
    }
  }
}

TEST(OpLaw, CrowdingSlowsOnlyLastCores) {
  OpLaw law;
  law.serial = 1;
  law.crowding = 0.1;
  const Machine machine = knl();
  EXPECT_DOUBLE_EQ(law_seconds(law, machine, {66, Binding::kCompact}), 1);
  EXPECT_DOUBLE_EQ(law_seconds(law, machine, {67, Binding::kMixed}), 1.1);
}

TEST(OpLaw, InadmissibleConfigurationsTakeInfiniteTime) {
  EXPECT_EQ(law_seconds({}, knl(), {40, Binding::kSpread}), kInfinity);
  EXPECT_EQ(law_seconds({}, knl(), {69, Binding::kCompact}), kInfinity);
  EXPECT_EQ(law_seconds({}, knl(), {3, Binding::kCompact}), kInfinity);
}

TEST(OpLaw, StandardLawsCoverEveryFamilyAndConfiguration) {
  std::set<CurveFamily> families;
  std::set<std::string> names;
  for (const NamedLaw& named : standard_laws()) {
    families.insert(named.law.family);
    EXPECT_TRUE(names.insert(named.name).second) << named.name;
    const Machine machine = read("pack:2 l3:2 core:8 pu:2");
    for (const Configuration at : case_space(machine).all()) {
      const double seconds = law_seconds(named.law, machine, at);
      EXPECT_TRUE(std::isfinite(seconds) && seconds > 0) << named.name << " " << at.width;
    }
  }
  EXPECT_EQ(families.size(), 5U);
}

TEST(OpLaw, StandardNoiseLevelsIncrease) {
  double before = -1;
  for (const NamedNoise& named : standard_noise()) {
    double away = 0;
    for (std::uint64_t step = 0; step < 2000; ++step) {
      away += std::abs(std::log(named.noise.factor(step, 1))) / 2000;
    }
    EXPECT_GT(away, before) << named.name;
    before = away;
  }
  EXPECT_EQ(standard_noise().front().noise.factor(3, 4), 1.0);
}

}  // namespace
}  // namespace optile::perfmodel
