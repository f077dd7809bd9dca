#include "perfmodel/machine/machine.h"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <string>

#include "tests/perfmodel/machine/machines.h"

namespace optile::perfmodel {
namespace {

TEST(Machine, KnightsLandingHasPairsOfCoresAsTiles) {
  const Machine machine = knl();
  EXPECT_EQ(machine.cores.size(), 68u);
  EXPECT_EQ(machine.tiles.size(), 34u);
  EXPECT_EQ(machine.units.size(), 272u);
  EXPECT_EQ(machine.tiles[0].cores, (std::vector<int>{0, 1}));
  EXPECT_EQ(machine.units[5].sibling_rank, 1);
}

TEST(Machine, SmallestSharedCacheIsTile) {
  const Machine zen = read("pack:2 l3:12 l2:8 core:1 pu:2");
  EXPECT_EQ(zen.cores.size(), 192u);
  EXPECT_EQ(zen.tiles.size(), 24u);
  EXPECT_EQ(zen.tiles[0].cores.size(), 8u);
}

TEST(Machine, EveryCoreIsTileWithoutSharedCache) {
  const Machine machine = read("pack:1 l2:6 core:1 pu:1");
  EXPECT_EQ(machine.tiles.size(), 6u);
}

TEST(Machine, RecordsNumaNodeOfTiles) {
  const Machine machine = read("numa:2 l3:2 core:4 pu:1");
  EXPECT_EQ(machine.numa_nodes, 2);
  EXPECT_EQ(machine.tiles.front().numa_node, 0);
  EXPECT_EQ(machine.tiles.back().numa_node, 1);
}

TEST(Machine, FingerprintsDifferBetweenMachines) {
  EXPECT_NE(read("pack:1 l3:1 core:4 pu:1").fingerprint,
            read("pack:1 l3:2 core:2 pu:1").fingerprint);
  EXPECT_EQ(read("pack:1 core:4 pu:1").fingerprint, read("pack:1 core:4 pu:1").fingerprint);
}

TEST(Machine, ReadsHost) {
  const Machine host = read("host");
  EXPECT_GE(host.allowed_cores(), 1);
  EXPECT_FALSE(host.name.empty());
}

TEST(Machine, NumaNodeIsTileWhenSharedCacheIsWider) {
  const Machine machine = read("pack:2 l3:1 numa:3 l2:4 core:1 pu:2");
  EXPECT_EQ(machine.tiles.size(), 6u);
  EXPECT_EQ(machine.tiles[0].cores.size(), 4u);
  EXPECT_EQ(machine.tiles[3].package, 1);
  EXPECT_EQ(machine.packages, 2);
  EXPECT_EQ(read("pack:1 numa:2 l2:4 core:2 pu:1").tiles.size(), 8u);  // a smaller cache is shared
}

// One socket, one L3 of nine cores, three NUMA nodes; the last core is disallowed.
TEST(Machine, ReadsLstopoFileWithDisallowedCores) {
  const Machine machine = read(OPTILE_MACHINE_FILE);
  EXPECT_EQ(machine.cores.size(), 9u);
  EXPECT_EQ(machine.tiles.size(), 3u);
  EXPECT_EQ(machine.allowed_cores(), 8);
}

TEST(Machine, RejectsMissingAndInvalidTopologyFiles) {
  const auto none = make_machine_source("no-such-file.xml")->read();
  ASSERT_FALSE(none.ok());
  EXPECT_EQ(none.error().kind, base::ErrorKind::kNotFound);
  const auto wrong = make_machine_source("/proc/self/cmdline")->read();
  ASSERT_FALSE(wrong.ok());
  EXPECT_EQ(wrong.error().kind, base::ErrorKind::kInvalid);
  EXPECT_NE(wrong.message().find("xmllint --noout /proc/self/cmdline"), std::string::npos);
}

TEST(Machine, RejectsTruncatedTopology) {
  std::ifstream file(OPTILE_MACHINE_FILE);
  const std::string whole{std::istreambuf_iterator<char>(file), {}};
  const std::string path = testing::TempDir() + "prefix.xml";
  for (const std::size_t bytes : {std::size_t{0}, whole.size() / 3, whole.size() / 2}) {
    std::ofstream(path) << whole.substr(0, bytes);
    const auto machine = make_machine_source(path)->read();
    ASSERT_FALSE(machine.ok()) << bytes;
    EXPECT_EQ(machine.error().kind, base::ErrorKind::kInvalid);
  }
}

TEST(Machine, InvalidDescriptionErrorExplainsSyntax) {
  const auto machine = make_machine_source("a toaster")->read();
  ASSERT_FALSE(machine.ok());
  EXPECT_NE(machine.message().find("hwloc synthetic string"), std::string::npos);
}

// hwloc would take minutes, or all memory.
TEST(Machine, RejectsMachinesWithMoreThan8192Pus) {
  for (const char* description : {"core:1 pu:99999", "pack:64 core:64 pu:4", "9 999999999999 9"}) {
    const auto machine = make_machine_source(description)->read();
    ASSERT_FALSE(machine.ok()) << description;
    EXPECT_NE(machine.message().find("more than 8192 processing units"), std::string::npos);
  }
  const Machine largest =
      read("pack:8 [numa(memory=99999999)] l3:8(size=32000000) l2:32 core:1 pu:2");
  EXPECT_EQ(largest.cores.size(), 2048u);
}

}  // namespace
}  // namespace optile::perfmodel
