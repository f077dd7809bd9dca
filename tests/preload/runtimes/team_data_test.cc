#include "bindings/preload/runtimes/team_data.h"

#include <gtest/gtest.h>

namespace optile::preload {
namespace {

TEST(TeamData, KnowsLibrariesThatPresizeTeams) {
  EXPECT_TRUE(presizes_its_teams("/usr/lib/x86_64-linux-gnu/libopenblas.so.0"));
  EXPECT_TRUE(presizes_its_teams("libdnnl.so.2"));
  EXPECT_FALSE(presizes_its_teams("/usr/bin/prog"));
  EXPECT_FALSE(presizes_its_teams("/opt/libdnnl/bin/prog"));
}

}  // namespace
}  // namespace optile::preload
