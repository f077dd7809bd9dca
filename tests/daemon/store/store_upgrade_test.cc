// Stores of older versions: what is still read stays, what nobody reads goes.
#include <gtest/gtest.h>

#include "daemon/store/store.h"
#include "tests/daemon/fixtures/temporary_directory.h"

namespace optile::daemon {
namespace {

// What version 3 changes, as versions 1 and 2 made it.
constexpr const char* kOlderSchema = R"sql(
CREATE TABLE programs (
  id INTEGER PRIMARY KEY,
  executable TEXT NOT NULL, program TEXT NOT NULL, arguments TEXT NOT NULL,
  last_seen INTEGER NOT NULL,
  UNIQUE (program, arguments, executable)) STRICT;
CREATE TABLE plans (
  id INTEGER PRIMARY KEY,
  program_id INTEGER NOT NULL REFERENCES programs (id) ON DELETE CASCADE,
  machine TEXT NOT NULL, launch_plan TEXT NOT NULL, runtime INTEGER NOT NULL,
  step_fingerprint INTEGER NOT NULL, own_width INTEGER NOT NULL, binding INTEGER NOT NULL,
  marker_key INTEGER NOT NULL, marker_context INTEGER NOT NULL, marker_ops INTEGER NOT NULL,
  own_step_seconds REAL NOT NULL, tuned_step_seconds REAL NOT NULL, made_at INTEGER NOT NULL,
  UNIQUE (program_id, machine, launch_plan, runtime, step_fingerprint, own_width)) STRICT;
CREATE TABLE plan_entries (
  plan_id INTEGER NOT NULL REFERENCES plans (id) ON DELETE CASCADE,
  key INTEGER NOT NULL, context INTEGER NOT NULL, name TEXT NOT NULL, shape TEXT NOT NULL,
  width INTEGER NOT NULL, rule INTEGER NOT NULL,
  PRIMARY KEY (plan_id, key, context)) STRICT, WITHOUT ROWID;
CREATE TABLE profiles (
  program_id INTEGER NOT NULL REFERENCES programs (id) ON DELETE CASCADE,
  machine TEXT NOT NULL, launch_plan TEXT NOT NULL, runtime INTEGER NOT NULL,
  key INTEGER NOT NULL, width INTEGER NOT NULL, binding INTEGER NOT NULL,
  name TEXT NOT NULL, shape TEXT NOT NULL, samples INTEGER NOT NULL,
  median_ns REAL NOT NULL, min_ns REAL NOT NULL, made_at INTEGER NOT NULL,
  PRIMARY KEY (program_id, machine, launch_plan, runtime, key, width, binding))
  STRICT, WITHOUT ROWID;
CREATE INDEX profiles_by_key ON profiles (machine, key);
CREATE INDEX profiles_by_name ON profiles (machine, name);
CREATE TABLE launch_plans (
  program_id INTEGER NOT NULL REFERENCES programs (id) ON DELETE CASCADE,
  machine TEXT NOT NULL, text TEXT NOT NULL, reasons TEXT NOT NULL, last_used INTEGER NOT NULL,
  PRIMARY KEY (program_id, machine, text)) STRICT, WITHOUT ROWID;
CREATE TABLE runs (
  id INTEGER PRIMARY KEY,
  program_id INTEGER NOT NULL REFERENCES programs (id) ON DELETE CASCADE,
  machine TEXT NOT NULL, launch_plan TEXT NOT NULL, runtime INTEGER NOT NULL,
  kind INTEGER NOT NULL, steps INTEGER NOT NULL, step_seconds REAL NOT NULL,
  spread REAL NOT NULL, own_steps INTEGER NOT NULL, own_step_seconds REAL NOT NULL,
  finished_at INTEGER NOT NULL) STRICT;
CREATE INDEX runs_by_program ON runs (program_id, finished_at);
INSERT INTO programs VALUES (1, '/usr/bin/python3', 'train.py', '--seed 0', 1000);
INSERT INTO plans VALUES (1, 1, 'a machine', 'openmp=llvm', 2, 9, 4, 0, 0, 0, 0, 1, 1, 1000);
INSERT INTO plan_entries VALUES (1, 7, 0, 'aten::mm', '[8,8]', 2, 0), (1, 0, 5, 'sum', '', 0, 0);
INSERT INTO profiles VALUES
  (1, 'a machine', 'openmp=llvm', 2, 7, 2, 0, 'aten::mm', '[8,8]', 12, 1500, 1400, 1000);
INSERT INTO launch_plans VALUES (1, 'a machine', 'openmp=llvm', 'because', 1000);
INSERT INTO runs VALUES (1, 1, 'a machine', 'openmp=llvm', 2, 2, 30, 0.5, 0, 0, 0, 1000);
)sql";

// Since version 1, where daemons of later days opened it.
constexpr const char* kAdded = R"sql(
CREATE TABLE lending (
  machine TEXT NOT NULL, program TEXT NOT NULL, own_cores INTEGER NOT NULL,
  gain REAL NOT NULL, borrows INTEGER NOT NULL, made_at INTEGER NOT NULL,
  PRIMARY KEY (machine, program, own_cores)) STRICT, WITHOUT ROWID;
CREATE TABLE undone (
  machine TEXT NOT NULL, program TEXT NOT NULL, made_at INTEGER NOT NULL,
  PRIMARY KEY (machine, program)) STRICT, WITHOUT ROWID;
CREATE TABLE overlaps (guest TEXT NOT NULL) STRICT;
CREATE TABLE divisions (giver TEXT NOT NULL) STRICT;
INSERT INTO lending VALUES ('a machine', 'train.py', 2, 1.2, 1, 1000);
INSERT INTO undone VALUES ('a machine', 'other.py', 1000);
)sql";

class StoreUpgradeTest : public testing::Test {
 protected:
  void make_store(int version, const std::string& more) {
    const std::string schema = kOlderSchema + more;
    ASSERT_TRUE(Database::open(path_, {0x6f70746c, version, schema.c_str()}).database);
  }
  Conditions conditions(const std::string& program = "train.py") const {
    return {"a machine", {"/usr/bin/python3", program, "--seed 0"}, "openmp=llvm", 2};
  }
  // Of tables and columns with these names.
  int64_t count_names(const std::string& names) {
    const Database::Opened opened = Database::open(path_, {0x6f70746c, 5, ""});
    if (opened.database == nullptr) return -1;
    const auto rows = opened.database->query(
        "SELECT count(*) FROM sqlite_schema AS one LEFT JOIN pragma_table_info(one.name) AS its "
        "WHERE one.name || '.' || coalesce(its.name, '') GLOB '" +
        names + "'");
    return rows.ok() ? as_integer(rows.value()[0][0]) : -1;
  }

  TemporaryDirectory directory_;
  std::string path_ = directory_ / "store.db";
};

TEST_F(StoreUpgradeTest, VersionTwoKeepsWhatIsReadAndDropsTheRest) {
  make_store(2, kAdded);
  const std::unique_ptr<Store> store = Store::open(path_);
  ASSERT_EQ(store->state().keeping, Store::Keeping::kOnDisk) << store->state().message;
  const std::vector<RunRecord> runs = store->find_runs(conditions());
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_DOUBLE_EQ(runs[0].step_seconds, 0.5);
  const std::vector<FoundProfile> profiles = store->find_profiles("a machine", 7, "", 10);
  ASSERT_EQ(profiles.size(), 1u);
  EXPECT_DOUBLE_EQ(profiles[0].profile.median_ns, 1500);
  EXPECT_EQ(profiles[0].when, 1000);
  EXPECT_EQ(profiles[0].program, "train.py");
  EXPECT_FALSE(store->find_plan(conditions(), 4)) << "its sum is over columns that are gone";
  EXPECT_TRUE(store->is_undone(conditions("other.py")));
  EXPECT_FALSE(store->is_undone(conditions()));
  EXPECT_TRUE(store->find_lending("a machine", "train.py", 0).empty());
  for (const char* gone :
       {"launch_plans.*", "overlaps.*", "divisions.*", "profiles_by_name.*", "plan_entries.name",
        "plan_entries.shape", "profiles.min_ns", "lending.gain"}) {
    EXPECT_EQ(count_names(gone), 0) << gone;
  }
  EXPECT_EQ(count_names("plan_entries.width"), 1);
}

TEST_F(StoreUpgradeTest, UpgradedStoreKeepsPlans) {
  make_store(2, kAdded);
  SettledRecord record;
  record.conditions = conditions();
  record.settled.plan.default_width = 4;
  record.settled.plan.entries = {{{7, 0}, 2, tuner::Rule::kPlanned}};
  record.settled.profiles = {{7, "aten::mm", "[8,8]", {2, perfmodel::Binding::kNone}, 12, 900}};
  StoreBatch batch;
  batch.settled = {record};
  batch.lending = {{"a machine", "train.py", 2, true, 2000}};
  ASSERT_TRUE(Store::open(path_)->write(batch).ok());
  const std::unique_ptr<Store> store = Store::open(path_);
  const std::optional<FoundPlan> found = store->find_plan(conditions(), 4);
  ASSERT_TRUE(found);
  ASSERT_EQ(found->plan.entries.size(), 1u);
  EXPECT_EQ(found->plan.entries[0].width, 2);
  EXPECT_DOUBLE_EQ(found->plan.entries[0].planned_ns, 900);
  EXPECT_EQ(store->find_lending("a machine", "train.py", 0).size(), 1u);
}

TEST_F(StoreUpgradeTest, VersionOneNeedsNoTableThatCameLater) {
  make_store(1, "");
  const std::unique_ptr<Store> store = Store::open(path_);
  ASSERT_EQ(store->state().keeping, Store::Keeping::kOnDisk) << store->state().message;
  EXPECT_EQ(store->find_runs(conditions()).size(), 1u);
}

// Version 4 renamed a column: what version 3 kept is found under the new name.
TEST_F(StoreUpgradeTest, VersionThreeKeepsPlansAndCurves) {
  SettledRecord record;
  record.conditions = conditions();
  record.settled.plan.default_width = 4;
  record.settled.plan.entries = {{{7, 0}, 2, tuner::Rule::kPlanned}};
  CurveRecord curve;
  curve.conditions = conditions();
  curve.curve.about.default_width = 4;
  curve.curve.points = {{1, 0.5, true, 1000}, {2, 0.3, true, 1000}};
  StoreBatch batch;
  batch.settled = {record};
  batch.curves = {curve};
  ASSERT_TRUE(Store::open(path_)->write(batch).ok());
  {
    const Database::Opened opened = Database::open(path_, {0x6f70746c, 5, ""});
    ASSERT_TRUE(opened.database);
    for (const char* sql : {"ALTER TABLE plans DROP COLUMN flow",
                            "ALTER TABLE plans RENAME COLUMN default_width TO own_width",
                            "ALTER TABLE curves RENAME COLUMN default_width TO own_width",
                            "PRAGMA user_version = 3"}) {
      ASSERT_TRUE(opened.database->run(sql).ok()) << sql;
    }
  }
  const std::unique_ptr<Store> store = Store::open(path_);
  ASSERT_EQ(store->state().keeping, Store::Keeping::kOnDisk) << store->state().message;
  const std::optional<FoundPlan> plan = store->find_plan(conditions(), 4);
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->plan.default_width, 4);
  const std::optional<EarlierCurve> found = store->find_curve(conditions(), 0);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->points.size(), 2u);
  EXPECT_EQ(found->about.default_width, 4);
}

TEST_F(StoreUpgradeTest, UndoOfOldestStoresIsTakenOver) {
  make_store(1, "INSERT INTO launch_plans VALUES (1, 'a machine', 'undone', '', 1000);");
  EXPECT_TRUE(Store::open(path_)->is_undone(conditions()));
  StoreBatch revoked;
  revoked.undone.push_back({conditions(), true, 2000});
  ASSERT_TRUE(Store::open(path_)->write(revoked).ok());
  EXPECT_FALSE(Store::open(path_)->is_undone(conditions()));
}

}  // namespace
}  // namespace optile::daemon
