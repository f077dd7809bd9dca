#include "perfmodel/profile/switching_cost.h"

#include <gtest/gtest.h>

namespace optile::perfmodel {
namespace {

TEST(SwitchingCost, IsZeroForWidthOneAndUnchangedWidth) {
  const SwitchingCost cost(Runtime::kLibgomp);
  EXPECT_EQ(cost.between(4, 4), Nanoseconds(0));
  EXPECT_EQ(cost.between(1, 4), Nanoseconds(0));
  EXPECT_EQ(cost.between(4, 1), Nanoseconds(0));
  EXPECT_GT(cost.between(4, 2), Nanoseconds(0));
}

TEST(SwitchingCost, MeasurementReplacesPrior) {
  SwitchingCost cost(Runtime::kLlvm);
  EXPECT_FALSE(cost.measured());
  cost.learn(Nanoseconds(10'000), 10);
  EXPECT_TRUE(cost.measured());
  EXPECT_EQ(cost.between(2, 4), Nanoseconds(1000));
  cost.learn(Nanoseconds(-500), 10);  // faster than its ops: no cost seen
  EXPECT_EQ(cost.between(2, 4), Nanoseconds(750));
}

}  // namespace
}  // namespace optile::perfmodel
