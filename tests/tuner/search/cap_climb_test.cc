#include "tuner/search/cap_climb.h"

#include <gtest/gtest.h>

#include <vector>

namespace optile::tuner {
namespace {

std::vector<int> below(int width) {
  std::vector<int> all;
  for (int i = 1; i < width; ++i) all.push_back(i);
  return all;
}

TEST(CapClimb, HalvesWhileThatIsFaster) {
  CapClimb climb(68, below(68));
  for (const int cap : {34, 17, 8}) {
    EXPECT_EQ(climb.next(), cap);
    climb.on_compared(0.2, true);
    EXPECT_EQ(climb.best(), cap);
  }
  EXPECT_EQ(climb.next(), 4);
  climb.on_compared(-0.3, false);
  EXPECT_EQ(climb.next(), 0);
  EXPECT_EQ(climb.best(), 8);
}

TEST(CapClimb, LooksBehindOneThatIsAsFast) {
  CapClimb climb(8, below(8));
  climb.on_compared(-0.01, false);
  EXPECT_EQ(climb.next(), 2);
  climb.on_compared(0.1, true);
  EXPECT_EQ(climb.best(), 2);
  EXPECT_EQ(climb.next(), 1);
}

TEST(CapClimb, EndsBehindTwoThatAreNotFaster) {
  CapClimb climb(16, below(16));
  climb.on_compared(0.001, false);
  climb.on_compared(0.001, false);
  EXPECT_EQ(climb.next(), 0);
  EXPECT_EQ(climb.best(), 16);
}

TEST(CapClimb, TakesOnlyWidthsThatMayBeSet) {
  CapClimb climb(12, {1, 2, 3});
  EXPECT_EQ(climb.next(), 3);
  climb.on_compared(0.2, true);
  EXPECT_EQ(climb.next(), 1);
  climb.on_compared(0.2, true);
  EXPECT_EQ(climb.next(), 0);
  EXPECT_EQ(CapClimb(12, {}).next(), 0);
}

TEST(CapClimb, DropsBestThatWasChance) {
  CapClimb climb(8, below(8));
  climb.on_compared(0.04, true);
  climb.drop_best();
  EXPECT_EQ(climb.best(), 8);
}

}  // namespace
}  // namespace optile::tuner
