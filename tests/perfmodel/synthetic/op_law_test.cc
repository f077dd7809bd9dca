#include "perfmodel/synthetic/op_law.h"

#include <gtest/gtest.h>

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

TEST(OpLaw, InadmissibleConfigurationsTakeInfiniteTime) {
  const ConfigurationTimes times = law_times({}, knl());
  EXPECT_EQ(times.at({40, Binding::kSpread}), kInfinity);
  EXPECT_EQ(times.at({69, Binding::kCompact}), kInfinity);
  EXPECT_EQ(times.at({3, Binding::kCompact}), kInfinity);
}

}  // namespace
}  // namespace optile::perfmodel
