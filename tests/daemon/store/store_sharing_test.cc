// Several daemons with one store: docs/design/0008-store.md states what holds then.
#include <gtest/gtest.h>
#include <sqlite3.h>

#include "daemon/store/store.h"
#include "tests/daemon/fixtures/temporary_directory.h"

namespace optile::daemon {
namespace {

Conditions program_at(const std::string& program) {
  return {"a machine", {"/usr/bin/python3", program, "python3 " + program}, "openmp=keep", 1};
}

RunRecord made_run(const std::string& program, int64_t when) {
  RunRecord record;
  record.conditions = program_at(program);
  record.kind = RunKind::kTune;
  record.steps = 20;
  record.step_seconds = 0.01;
  record.when = when;
  return record;
}

StoreBatch one_run(RunRecord run) {
  StoreBatch batch;
  batch.runs.push_back(std::move(run));
  return batch;
}

class SharedStore : public testing::Test {
 protected:
  SharedStore() : first_(Store::open(path_)), second_(Store::open(path_)) {}

  const TemporaryDirectory directory_;
  const std::string path_ = directory_ / "store.db";
  std::unique_ptr<Store> first_;
  std::unique_ptr<Store> second_;
};

TEST_F(SharedStore, StoresReadEachOthersWrites) {
  for (int64_t i = 0; i < 50; ++i) {
    ASSERT_TRUE(first_->write(one_run(made_run("a.py", 2 * i))).ok());
    ASSERT_TRUE(second_->write(one_run(made_run("a.py", 2 * i + 1))).ok());
  }
  for (Store* store : {first_.get(), second_.get()}) {
    EXPECT_EQ(store->state().keeping, Store::Keeping::kOnDisk);
    EXPECT_EQ(store->find_runs(program_at("a.py")).size(), 100u);
  }
}

TEST_F(SharedStore, UndoIsVisibleToOtherStore) {
  ASSERT_TRUE(first_->write(one_run(made_run("a.py", 1))).ok());
  StoreBatch batch;
  UndoRecord undo;
  undo.conditions = program_at("a.py");
  undo.when = 2;
  batch.undone.push_back(undo);
  ASSERT_TRUE(first_->write(batch).ok());
  EXPECT_TRUE(second_->is_undone(program_at("a.py")));
}

// One that writes for long keeps the other waiting for 50 ms, and then nothing of it is lost.
TEST_F(SharedStore, WriteToBusyFileIsRetriedLater) {
  ASSERT_TRUE(first_->write(one_run(made_run("a.py", 1))).ok());
  sqlite3* busy = nullptr;
  ASSERT_EQ(sqlite3_open(path_.c_str(), &busy), SQLITE_OK);
  ASSERT_EQ(sqlite3_exec(busy, "BEGIN IMMEDIATE", nullptr, nullptr, nullptr), SQLITE_OK);
  EXPECT_FALSE(second_->write(one_run(made_run("b.py", 2))).ok());
  EXPECT_TRUE(second_->unsaved());
  EXPECT_EQ(second_->find_runs(program_at("b.py")).size(), 1u);
  sqlite3_exec(busy, "COMMIT", nullptr, nullptr, nullptr);
  sqlite3_close(busy);
  EXPECT_TRUE(second_->write({}).ok());
  EXPECT_FALSE(second_->unsaved());
  EXPECT_EQ(first_->find_runs(program_at("b.py")).size(), 1u);
}

}  // namespace
}  // namespace optile::daemon
