#include "perfmodel/synthetic/fixed_team.h"

#include <gtest/gtest.h>

namespace optile::perfmodel {
namespace {

TEST(FixedTeam, TakesTimeOfFullestCore) {
  EXPECT_EQ(fixed_team_times(4, 6), (std::vector<double>{4, 2, 2, 1, 1, 1}));
  EXPECT_EQ(fixed_team_times(1, 2), (std::vector<double>{1, 1}));
}

TEST(FixedTeam, HasNoTimesWithoutThreadsOrCores) {
  EXPECT_TRUE(fixed_team_times(0, 4).empty());
  EXPECT_TRUE(fixed_team_times(4, 0).empty());
}

}  // namespace
}  // namespace optile::perfmodel
