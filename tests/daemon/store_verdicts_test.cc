// What the store keeps of programs beside each other, and of regions that hung.
#include <gtest/gtest.h>

#include "daemon/store.h"
#include "tests/daemon/no_space.h"
#include "tests/daemon/temporary_directory.h"

namespace optile::daemon {
namespace {

OverlapRecord overlap(const std::string& guest, const std::string& host, bool pays) {
  OverlapRecord record;
  record.machine = "a machine";
  record.verdict = {{guest, host, sched::OverlapShape::kHalf}, pays, -0.05, -0.07, -0.03, 6, "why"};
  record.when = 1700000000;
  record.believed_until = 1700000100;
  return record;
}

TEST(StoreOverlaps, VerdictsAreFoundByEitherProgramAndReplaced) {
  const std::unique_ptr<Store> store = Store::open(":memory:");
  StoreBatch batch;
  batch.overlaps = {overlap("a", "b", true), overlap("c", "a", false), overlap("c", "d", true)};
  ASSERT_TRUE(store->write(batch).ok());
  EXPECT_EQ(store->find_overlaps("a machine", "a").size(), 2u);
  EXPECT_TRUE(store->find_overlaps("another", "a").empty());
  batch = {};
  batch.overlaps = {overlap("a", "b", false)};
  ASSERT_TRUE(store->write(batch).ok());
  const std::vector<OverlapRecord> found = store->find_overlaps("a machine", "b");
  ASSERT_EQ(found.size(), 1u);
  EXPECT_FALSE(found[0].verdict.pays);
  EXPECT_EQ(found[0].verdict.key.shape, sched::OverlapShape::kHalf);
  EXPECT_DOUBLE_EQ(found[0].verdict.gain, -0.05);
  EXPECT_EQ(found[0].believed_until, 1700000100);
}

TEST(StoreOverlaps, AStoreOfAnOlderDaemonGetsTheTable) {
  TemporaryDirectory directory;
  const std::string path = directory.path() + "/store.db";
  StoreBatch batch;
  batch.overlaps = {overlap("a", "b", true)};
  ASSERT_TRUE(Store::open(path)->write(batch).ok());
  const Database::Identity older = {0x6f70746c, 1, ""};
  ASSERT_TRUE(Database::open(path, older).database->run("DROP TABLE overlaps").ok());
  const std::unique_ptr<Store> store = Store::open(path);
  EXPECT_EQ(store->state().keeping, Store::Keeping::kOnDisk);
  EXPECT_TRUE(store->find_overlaps("a machine", "a").empty());
  ASSERT_TRUE(store->write(batch).ok());
  EXPECT_EQ(store->find_overlaps("a machine", "a").size(), 1u);
}

DivisionRecord division(int giver_cores, bool pays) {
  DivisionRecord record;
  record.machine = "a machine";
  record.verdict = {{"a", "b", giver_cores, 1, 1, 0.5}, pays, 0.05};
  record.when = 1700000000;
  record.believed_until = 1700000100;
  return record;
}

TEST(StoreDivisions, VerdictsAreFoundByEitherProgramAndReplaced) {
  const std::unique_ptr<Store> store = Store::open(":memory:");
  StoreBatch batch;
  batch.divisions = {division(3, false), division(2, true)};
  ASSERT_TRUE(store->write(batch).ok());
  EXPECT_EQ(store->find_divisions("a machine", "a").size(), 2u);
  EXPECT_EQ(store->find_divisions("a machine", "b").size(), 2u);
  EXPECT_TRUE(store->find_divisions("a machine", "c").empty());
  EXPECT_TRUE(store->find_divisions("another", "a").empty());
  batch.divisions = {division(3, true)};
  batch.divisions[0].when += 1;
  ASSERT_TRUE(store->write(batch).ok());
  const std::vector<DivisionRecord> found = store->find_divisions("a machine", "a");
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].verdict.key, batch.divisions[0].verdict.key) << "newest first";
  EXPECT_TRUE(found[0].verdict.pays);
  EXPECT_DOUBLE_EQ(found[0].verdict.gain, 0.05);
  EXPECT_EQ(found[0].believed_until, 1700000100);
}

LendingRecord lending(int own_cores, bool borrows, int64_t when) {
  return {"a machine", "a", own_cores, borrows ? 1.2 : 1.01, borrows, when};
}

TEST(StoreLending, VerdictsAreFoundWhileTheyAreYoungAndReplaced) {
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
  EXPECT_DOUBLE_EQ(found[0].gain, 1.01);
  EXPECT_EQ(found[0].when, 3000);
}

// Callers take each record over the one before it.
TEST(StoreVerdicts, WhatCouldNotBeWrittenYetIsTheOnlyOneFound) {
  const TemporaryDirectory directory;
  const std::unique_ptr<Store> store = Store::open(directory / "store.db");
  StoreBatch batch;
  batch.overlaps = {overlap("a", "b", true)};
  batch.lending = {lending(2, true, 1000)};
  batch.hangs = {{"a machine", "a", 7, "region", 4, 1000}};
  ASSERT_TRUE(store->write(batch).ok());
  batch.overlaps[0].verdict.pays = false;
  batch.lending = {lending(2, false, 2000)};
  batch.hangs[0].width = 3;
  const NoSpace no_space;
  ASSERT_FALSE(store->write(batch).ok());
  const std::vector<OverlapRecord> overlaps = store->find_overlaps("a machine", "a");
  ASSERT_EQ(overlaps.size(), 1u);
  EXPECT_FALSE(overlaps[0].verdict.pays);
  const std::vector<LendingRecord> lent = store->find_lending("a machine", "a", 500);
  ASSERT_EQ(lent.size(), 1u);
  EXPECT_FALSE(lent[0].borrows);
  const std::vector<HangRecord> hangs = store->find_hangs("a machine", "a");
  ASSERT_EQ(hangs.size(), 1u);
  EXPECT_EQ(hangs[0].width, 3);
}

}  // namespace
}  // namespace optile::daemon
