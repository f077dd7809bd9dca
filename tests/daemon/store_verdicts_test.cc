// What the store keeps of programs beside each other, and of regions that hung.
#include <gtest/gtest.h>

#include "daemon/store/store.h"
#include "tests/daemon/fixtures/no_space.h"
#include "tests/daemon/fixtures/temporary_directory.h"

namespace optile::daemon {
namespace {

LendingRecord lending(int own_cores, bool borrows, int64_t when) {
  return {"a machine", "a", own_cores, borrows, when};
}

TEST(StoreLending, RecentVerdictsAreFoundAndReplaced) {
  const std::unique_ptr<Store> store = Store::open(":memory:");
  StoreBatch batch;
  batch.lending = {lending(2, true, 1000), lending(4, false, 2000)};
  ASSERT_TRUE(store->write(batch).ok());
  EXPECT_EQ(store->find_lending("a machine", "a", 500).size(), 2u);
  EXPECT_EQ(store->find_lending("a machine", "a", 1500).size(), 1u);
  EXPECT_TRUE(store->find_lending("a machine", "b", 500).empty());
  EXPECT_TRUE(store->find_lending("another", "a", 500).empty());
  batch = {};
  batch.lending = {lending(2, false, 3000)};
  ASSERT_TRUE(store->write(batch).ok());
  const std::vector<LendingRecord> found = store->find_lending("a machine", "a", 500);
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].own_cores, 2);
  EXPECT_FALSE(found[0].borrows);
  EXPECT_EQ(found[0].when, 3000);
}

TEST(StoreLending, AddsTableToOlderStore) {
  const TemporaryDirectory directory;
  const std::string path = directory / "store.db";
  StoreBatch batch;
  batch.lending = {lending(2, true, 1000)};
  ASSERT_TRUE(Store::open(path)->write(batch).ok());
  const Database::Identity same = {0x6f70746c, 5, ""};
  ASSERT_TRUE(Database::open(path, same).database->run("DROP TABLE lending").ok());
  const std::unique_ptr<Store> store = Store::open(path);
  EXPECT_EQ(store->state().keeping, Store::Keeping::kOnDisk);
  EXPECT_TRUE(store->find_lending("a machine", "a", 500).empty());
  ASSERT_TRUE(store->write(batch).ok());
  EXPECT_EQ(store->find_lending("a machine", "a", 500).size(), 1u);
}

// Callers take each record over the one before it.
TEST(StoreVerdicts, PendingVerdictsSupersedeWrittenOnes) {
  const TemporaryDirectory directory;
  const std::unique_ptr<Store> store = Store::open(directory / "store.db");
  StoreBatch batch;
  batch.lending = {lending(2, true, 1000)};
  batch.hangs = {{"a machine", "a", 7, "region", 4, 1000}};
  ASSERT_TRUE(store->write(batch).ok());
  batch.lending = {lending(2, false, 2000)};
  batch.hangs[0].width = 3;
  const NoSpace no_space;
  ASSERT_FALSE(store->write(batch).ok());
  const std::vector<LendingRecord> lent = store->find_lending("a machine", "a", 500);
  ASSERT_EQ(lent.size(), 1u);
  EXPECT_FALSE(lent[0].borrows);
  const std::vector<HangRecord> hangs = store->find_hangs("a machine", "a");
  ASSERT_EQ(hangs.size(), 1u);
  EXPECT_EQ(hangs[0].width, 3);
}

}  // namespace
}  // namespace optile::daemon
