// The oldest go from the store, at a cost that follows from what is written.
#include <gtest/gtest.h>
#include <sqlite3.h>

#include "daemon/store/store.h"
#include "tests/daemon/fixtures/temporary_directory.h"

namespace optile::daemon {
namespace {

constexpr int kRunsKept = 128;
constexpr int kStepsAtOnce = 10;  // between two calls by SQLite

int steps_seen = 0;

// Counts, for all databases that are opened while one of these lives, the steps of SQLite's virtual
// machine: what a statement costs, whatever else the machine does.
class CountedSteps {
 public:
  CountedSteps() { sqlite3_auto_extension(reinterpret_cast<void (*)()>(&watch)); }
  ~CountedSteps() { sqlite3_cancel_auto_extension(reinterpret_cast<void (*)()>(&watch)); }
  CountedSteps(const CountedSteps&) = delete;
  CountedSteps& operator=(const CountedSteps&) = delete;

 private:
  static int watch(sqlite3* handle, char**, const void*) {
    const auto count = [](void*) {
      steps_seen += kStepsAtOnce;
      return 0;
    };
    sqlite3_progress_handler(handle, kStepsAtOnce, count, nullptr);
    return SQLITE_OK;
  }
};

RunRecord run_of(int program, int64_t when) {
  RunRecord record;
  record.conditions = {"a machine", {"/usr/bin/p", "p", std::to_string(program)}, "", 0};
  record.when = when;
  return record;
}

// As full as it may be, but for the number of programs.
std::unique_ptr<Store> store_of_programs(int programs) {
  std::unique_ptr<Store> store = Store::open(":memory:");
  StoreBatch batch;
  for (int program = 0; program < programs; ++program) {
    for (int i = 0; i < kRunsKept; ++i) batch.runs.push_back(run_of(program, i));
  }
  EXPECT_TRUE(store->write(batch).ok());
  return store;
}

int steps_of_a_write(Store& store) {
  steps_seen = 0;
  EXPECT_TRUE(store.write({{}, {run_of(0, 1000)}, {}}).ok());
  return steps_seen;
}

TEST(StorePruning, WriteCostIsIndependentOfProgramCount) {
  const CountedSteps counted;
  const int of_few = steps_of_a_write(*store_of_programs(2));
  EXPECT_GT(of_few, 0);
  EXPECT_LT(steps_of_a_write(*store_of_programs(64)), of_few + of_few / 2);
}

int64_t runs_in(const std::string& path) {
  const Database::Opened opened = Database::open(path, {0x6f70746c, 5, ""});
  return as_integer(opened.database->query("SELECT count(*) FROM runs").value()[0][0]);
}

TEST(StorePruning, OpeningPrunesExcessRuns) {
  const TemporaryDirectory directory;
  const std::string path = directory / "store.db";
  ASSERT_TRUE(Store::open(path)->write({{}, {run_of(0, 1)}, {}}).ok());
  ASSERT_TRUE(Database::open(path, {0x6f70746c, 5, ""})
                  .database
                  ->run("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE "
                        "i < 300) INSERT INTO runs (program_id, machine, launch_plan, runtime, "
                        "kind, steps, step_seconds, spread, own_steps, own_step_seconds, "
                        "finished_at) SELECT programs.id, 'a machine', '', 0, 2, 20, 1.0, 0.0, 0, "
                        "0.0, i FROM n, programs")
                  .ok());
  EXPECT_EQ(runs_in(path), 301);
  Store::open(path);
  EXPECT_EQ(runs_in(path), kRunsKept);
}

TEST(StorePruning, OldestProgramsAreRemoved) {
  const TemporaryDirectory directory;
  const std::string path = directory / "store.db";
  const std::unique_ptr<Store> store = Store::open(path);
  for (const int first : {0, 300}) {
    StoreBatch batch;
    for (int i = first; i < first + 300; ++i) batch.runs.push_back(run_of(i, i));
    ASSERT_TRUE(store->write(batch).ok());
  }
  EXPECT_EQ(runs_in(path), 512);
  EXPECT_EQ(store->find_runs(run_of(599, 0).conditions).at(0).when, 599);
  EXPECT_EQ(store->find_runs(run_of(88, 0).conditions).at(0).when, 88);
  EXPECT_EQ(store->find_runs(run_of(87, 0).conditions).at(0).when, 599) << "the latest of others";
}

}  // namespace
}  // namespace optile::daemon
