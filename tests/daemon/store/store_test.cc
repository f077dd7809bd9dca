#include "daemon/store/store.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <random>

#include "tests/daemon/fixtures/no_space.h"
#include "tests/daemon/fixtures/temporary_directory.h"

namespace optile::daemon {
namespace {

using perfmodel::Binding;
using perfmodel::Configuration;

Conditions conditions(const std::string& arguments = "train --epochs 3") {
  return {"a machine", {"/usr/bin/python3", "train.py", arguments}, "openmp=llvm", 2};
}

SettledRecord settled(const Conditions& at, int width, int entries = 2) {
  SettledRecord record;
  record.conditions = at;
  record.when = 1700000000;
  tuner::StoredPlan& plan = record.settled.plan;
  plan.step_fingerprint = UINT64_C(0xfedcba9876543210);
  plan.default_width = 4;
  plan.binding = Binding::kCompact;
  plan.flow.kind = tuner::OpFlow::Kind::kFilled;
  plan.marker = {{UINT64_C(0xffffffffffffffff), 9}, 17};
  plan.own_step_seconds = 0.02;
  plan.tuned_step_seconds = 0.01;
  for (int i = 0; i < entries; ++i) {
    plan.entries.push_back({{UINT64_C(0x8000000000000000) + static_cast<uint64_t>(i), 5},
                            width,
                            tuner::Rule::kPlanned});
  }
  record.settled.profiles = {{UINT64_C(0x8000000000000000), "aten::mm", "[8,8]",
                              Configuration{2, Binding::kNone}, 12, 1500},
                             {UINT64_C(0x8000000000000000), "aten::mm", "[8,8]",
                              Configuration{4, Binding::kNone}, 11, 900}};
  return record;
}

RunRecord run(RunKind kind, const std::string& launch_plan, double seconds, int64_t when) {
  RunRecord record;
  record.conditions = conditions();
  record.conditions.launch_plan = launch_plan;
  record.kind = kind;
  record.steps = 20;
  record.step_seconds = seconds;
  record.when = when;
  return record;
}

TEST(Store, ReadsBackWrittenDataAfterReopening) {
  const TemporaryDirectory directory;
  const std::string path = directory / "deep/er/store.db";
  {
    const std::unique_ptr<Store> store = Store::open(path);
    EXPECT_EQ(store->state().keeping, Store::Keeping::kOnDisk);
    EXPECT_EQ(store->state().message, "");
    ASSERT_TRUE(store->write({{settled(conditions(), 2)}, {}, {}}).ok());
  }
  const std::unique_ptr<Store> store = Store::open(path);
  const std::optional<FoundPlan> found = store->find_plan(conditions(), 4);
  ASSERT_TRUE(found.has_value());
  EXPECT_TRUE(found->same_arguments);
  EXPECT_EQ(found->when, 1700000000);
  EXPECT_EQ(found->plan.step_fingerprint, UINT64_C(0xfedcba9876543210));
  EXPECT_EQ(found->plan.binding, Binding::kCompact);
  EXPECT_EQ(found->plan.flow.kind, tuner::OpFlow::Kind::kFilled);
  EXPECT_EQ(found->plan.marker.place.key, UINT64_C(0xffffffffffffffff));
  EXPECT_EQ(found->plan.marker.ops, 17);
  ASSERT_EQ(found->plan.entries.size(), 2u);
  EXPECT_EQ(found->plan.entries[0].width, 2);
  EXPECT_EQ(found->plan.entries[0].rule, tuner::Rule::kPlanned);
  EXPECT_DOUBLE_EQ(found->plan.tuned_step_seconds, 0.01);
  const auto profiles = store->find_profiles("a machine", UINT64_C(0x8000000000000000), "", 10);
  ASSERT_EQ(profiles.size(), 2u);
  EXPECT_EQ(profiles[0].profile.at.width, 2);
  EXPECT_EQ(profiles[0].profile.count, 12u);
  EXPECT_EQ(store->find_profiles("a machine", 0, "aten::", 10).size(), 2u);
  EXPECT_TRUE(store->find_profiles("a machine", 0, "aten%", 10).empty());
  EXPECT_TRUE(store->find_profiles("another", 0, "aten::", 10).empty());
  struct stat file {};
  ASSERT_EQ(stat(path.c_str(), &file), 0);
}

TEST(Store, FindPlanPrefersSameArguments) {
  const std::unique_ptr<Store> store = Store::open(":memory:");
  SettledRecord other = settled(conditions("train --epochs 9"), 1);
  other.when += 1000;
  ASSERT_TRUE(store->write({{settled(conditions(), 2), other}, {}, {}}).ok());
  EXPECT_EQ(store->find_plan(conditions(), 4)->plan.entries[0].width, 2);
  const std::optional<FoundPlan> near = store->find_plan(conditions("something else"), 4);
  ASSERT_TRUE(near.has_value());
  EXPECT_FALSE(near->same_arguments);
  EXPECT_EQ(near->plan.entries[0].width, 1);  // the newest

  Conditions elsewhere = conditions();
  elsewhere.machine = "another machine";
  EXPECT_FALSE(store->find_plan(elsewhere, 4).has_value());
  elsewhere = conditions();
  elsewhere.program.program = "other.py";
  EXPECT_FALSE(store->find_plan(elsewhere, 4).has_value());
  elsewhere = conditions();
  elsewhere.launch_plan = "openmp=keep";
  EXPECT_FALSE(store->find_plan(elsewhere, 4).has_value());
  elsewhere = conditions();
  elsewhere.runtime = 1;
  EXPECT_FALSE(store->find_plan(elsewhere, 4).has_value());
  elsewhere.runtime = 0;  // not known yet
  EXPECT_TRUE(store->find_plan(elsewhere, 4).has_value());
}

TEST(Store, NewPlanReplacesOldPlan) {
  const std::unique_ptr<Store> store = Store::open(":memory:");
  ASSERT_TRUE(store->write({{settled(conditions(), 2, 5)}, {}, {}}).ok());
  ASSERT_TRUE(store->write({{settled(conditions(), 3, 1)}, {}, {}}).ok());
  const std::optional<FoundPlan> found = store->find_plan(conditions(), 4);
  ASSERT_EQ(found->plan.entries.size(), 1u);
  EXPECT_EQ(found->plan.entries[0].width, 3);
}

TEST(Store, FindsRunsNewestFirstForAnyExecutable) {
  const std::unique_ptr<Store> store = Store::open(":memory:");
  ASSERT_TRUE(store
                  ->write({{},
                           {run(RunKind::kBaseline, "", 0.5, 100),
                            run(RunKind::kTune, "openmp=llvm", 0.1, 200)},
                           {}})
                  .ok());
  Conditions asked = conditions();
  asked.program.executable = "/somewhere/else/python3";
  std::vector<RunRecord> runs = store->find_runs(asked);
  ASSERT_EQ(runs.size(), 2u);
  EXPECT_EQ(runs[0].kind, RunKind::kTune);
  EXPECT_DOUBLE_EQ(runs[1].step_seconds, 0.5);
  asked.program.arguments = "never seen";
  EXPECT_EQ(store->find_runs(asked).size(), 2u);
  asked.program.program = "never seen";
  EXPECT_TRUE(store->find_runs(asked).empty());
}

TEST(Store, KeepsUntouchedFlagAndDisturbanceOfRuns) {
  const std::unique_ptr<Store> store = Store::open(":memory:");
  RunRecord observed = run(RunKind::kObserve, "openmp=keep", 0.5, 100);
  observed.untouched = true;
  observed.disturbed = "others kept 1.3 of 2 cores busy on average";
  observed.step = {239, {1, 2, UINT64_C(0xf000000000000003)}};
  ASSERT_TRUE(store->write({{}, {run(RunKind::kBaseline, "", 0.5, 50), observed}, {}}).ok());
  const std::vector<RunRecord> runs = store->find_runs(conditions());
  ASSERT_EQ(runs.size(), 2u);
  EXPECT_TRUE(runs[0].untouched);
  EXPECT_EQ(runs[0].disturbed, observed.disturbed);
  EXPECT_EQ(runs[0].step, observed.step);
  EXPECT_TRUE(runs[1].untouched) << "a baseline is, also where an older daemon wrote it";
  EXPECT_EQ(runs[1].disturbed, "");
}

TEST(Store, PrunesOldRuns) {
  const std::unique_ptr<Store> store = Store::open(":memory:");
  StoreBatch batch;
  for (int i = 0; i < 300; ++i) batch.runs.push_back(run(RunKind::kTune, "x", 1, i));
  ASSERT_TRUE(store->write(batch).ok());
  const std::vector<RunRecord> runs = store->find_runs(conditions());
  ASSERT_EQ(runs.size(), 128u);
  EXPECT_EQ(runs.front().when, 299);
}

TEST(Store, PrunesOldProfiles) {
  const std::unique_ptr<Store> store = Store::open(":memory:");
  StoreBatch batch;
  for (int i = 0; i < 10; ++i) {
    SettledRecord one = settled(conditions(), 2);
    one.when += i;
    one.settled.profiles.resize(1);
    for (uint64_t key = 1; key < 4096; ++key) {
      one.settled.profiles.push_back(one.settled.profiles[0]);
      one.settled.profiles.back().key = 10000 * static_cast<uint64_t>(i) + key;
      one.settled.profiles.back().name = "op " + std::to_string(i);
    }
    batch.settled.push_back(std::move(one));
  }
  ASSERT_TRUE(store->write(batch).ok());
  EXPECT_TRUE(store->find_profiles("a machine", 0, "op 0", 10).empty());
  EXPECT_EQ(store->find_profiles("a machine", 0, "op 9", 5000).size(), 4095u);
  EXPECT_TRUE(store->find_plan(conditions(), 4));
}

TEST(Store, NanDoesNotFailBatch) {
  const std::unique_ptr<Store> store = Store::open(":memory:");
  ASSERT_TRUE(store->write({{}, {run(RunKind::kTune, "x", std::nan(""), 1)}, {}}).ok());
  EXPECT_DOUBLE_EQ(store->find_runs(conditions())[0].step_seconds, 0);
}

// F10.
// fault: F10
TEST(Store, DamagedFileIsSetAsideAndReplaced) {
  const TemporaryDirectory directory;
  const std::string path = directory / "store.db";
  std::ofstream(path) << std::string(5000, 'x');
  const std::unique_ptr<Store> store = Store::open(path);
  EXPECT_EQ(store->state().keeping, Store::Keeping::kOnDisk);
  EXPECT_NE(store->state().message.find("damaged"), std::string::npos);
  EXPECT_TRUE(store->write({{settled(conditions(), 2)}, {}, {}}).ok());
  int aside = 0;
  for (const auto& entry : std::filesystem::directory_iterator(directory.path())) {
    if (entry.path().filename().string().find(".damaged-") != std::string::npos) ++aside;
  }
  EXPECT_EQ(aside, 1);
}

// F10.
// fault: F10
TEST(Store, CorruptedBytesNeverCrashOrAlterPlans) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  const TemporaryDirectory directory;
  for (int round = 0; round < 40; ++round) {
    const std::string path = directory / ("store" + std::to_string(round) + ".db");
    ASSERT_TRUE(Store::open(path)->write({{settled(conditions(), 2, 40)}, {}, {}}).ok());
    {
      std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
      const auto size = std::filesystem::file_size(path);
      const int flips = round % 2 == 0 ? 200 : 1 + round / 2;
      for (int flip = 0; flip < flips; ++flip) {
        file.seekp(static_cast<std::streamoff>(random() % size));
        file.put(static_cast<char>(random()));
      }
    }
    const std::unique_ptr<Store> store = Store::open(path);
    if (const std::optional<FoundPlan> found = store->find_plan(conditions(), 4)) {
      EXPECT_EQ(found->plan.entries.size(), 40u);
      for (const tuner::StoredEntry& entry : found->plan.entries) EXPECT_EQ(entry.width, 2);
    }
    store->find_runs(conditions());
    store->find_profiles("a machine", 0, "aten", 10);
    const base::Status written = store->write({{settled(conditions(), 3)}, {}, {}});
    if (!written.ok()) {
      EXPECT_FALSE(written.message().empty());
    }
  }
}

// fault: F10
TEST(Store, TamperedPlanIsNotServed) {
  const TemporaryDirectory directory;
  const std::string path = directory / "store.db";
  ASSERT_TRUE(Store::open(path)->write({{settled(conditions(), 2, 4)}, {}, {}}).ok());
  const Database::Identity same = {0x6f70746c, 5, ""};
  for (const char* change : {"UPDATE plan_entries SET width = 3 WHERE width = 2",
                             "DELETE FROM plan_entries WHERE key = 0"}) {
    ASSERT_TRUE(Store::open(path)->find_plan(conditions(), 4).has_value());
    ASSERT_TRUE(Database::open(path, same).database->run(change).ok());
    const std::unique_ptr<Store> store = Store::open(path);
    EXPECT_FALSE(store->find_plan(conditions(), 4).has_value()) << change;
    ASSERT_TRUE(store->write({{settled(conditions(), 2, 4)}, {}, {}}).ok());  // learned anew
  }
}

TEST(Store, ForeignDatabaseIsLeftUntouched) {
  const TemporaryDirectory directory;
  const std::string path = directory / "other.db";
  const Database::Identity foreign = {0x12345678, 3, "CREATE TABLE theirs (x INTEGER)"};
  ASSERT_NE(Database::open(path, foreign).database, nullptr);
  const std::unique_ptr<Store> store = Store::open(path);
  EXPECT_EQ(store->state().keeping, Store::Keeping::kInMemory);
  EXPECT_NE(store->state().message.find("another program"), std::string::npos);
  ASSERT_TRUE(store->write({{settled(conditions(), 2)}, {}, {}}).ok());  // in memory
  EXPECT_TRUE(store->find_plan(conditions(), 4).has_value());
  EXPECT_NE(Database::open(path, foreign).database, nullptr);
}

TEST(Store, KeepsInMemoryWhenFileHasNewerVersion) {
  const TemporaryDirectory directory;
  const std::string path = directory / "store.db";
  const Database::Identity newer = {0x6f70746c, 99, "CREATE TABLE later (x INTEGER)"};
  ASSERT_NE(Database::open(path, newer).database, nullptr);
  EXPECT_EQ(Store::open(path)->state().keeping, Store::Keeping::kInMemory);
}

// fault: F9
TEST(Store, KeepsInMemoryWhenPathIsUnwritable) {
  const TemporaryDirectory directory;
  std::ofstream(directory / "file") << "not a folder";
  for (const std::string& path : {directory / "file/store.db", directory.path(), std::string()}) {
    const std::unique_ptr<Store> store = Store::open(path);
    EXPECT_EQ(store->state().keeping, Store::Keeping::kInMemory) << path;
    EXPECT_FALSE(store->state().message.empty());
    // Without any path there is nothing to be tried again.
    EXPECT_EQ(store->write({{settled(conditions(), 2)}, {}, {}}).ok(), path.empty()) << path;
    EXPECT_EQ(store->unsaved(), !path.empty()) << path;
    EXPECT_TRUE(store->find_plan(conditions(), 4).has_value());
  }
}

TEST(Store, RecoversAfterWriteFailsOnLockedFile) {
  const TemporaryDirectory directory;
  const std::string path = directory / "store.db";
  const std::unique_ptr<Store> store = Store::open(path);
  const Database::Identity same = {0x6f70746c, 5, ""};
  const Database::Opened other = Database::open(path, same);  // holds the write lock meanwhile
  ASSERT_NE(other.database, nullptr);
  ASSERT_TRUE(other.database->run("BEGIN IMMEDIATE").ok());
  EXPECT_FALSE(store->write({{settled(conditions(), 2)}, {}, {}}).ok());
  EXPECT_EQ(store->state().keeping, Store::Keeping::kFailing);
  EXPECT_FALSE(store->state().message.empty());
  ASSERT_TRUE(other.database->run("ROLLBACK").ok());
  EXPECT_TRUE(store->write({{settled(conditions(), 2)}, {}, {}}).ok());
  EXPECT_EQ(store->state().keeping, Store::Keeping::kOnDisk);
}

// F8, F12.
// fault: F8
TEST(Store, KeepsWritesInMemoryWhileDiskIsFull) {
  const TemporaryDirectory directory;
  const std::string path = directory / "store.db";
  const std::unique_ptr<Store> store = Store::open(path);
  ASSERT_TRUE(store->write({{settled(conditions("before"), 1)}, {}, {}}).ok());
  {
    const NoSpace no_space;
    const base::Status full =
        store->write({{settled(conditions(), 2)}, {run(RunKind::kTune, "x", 1, 5)}, {}});
    ASSERT_FALSE(full.ok());
    EXPECT_EQ(store->state().keeping, Store::Keeping::kFailing);
    EXPECT_EQ(store->state().failed_writes, 1u);
    EXPECT_NE(store->state().message.find("tried again"), std::string::npos);
    EXPECT_EQ(store->find_plan(conditions(), 4)->plan.entries[0].width, 2);
    EXPECT_EQ(store->find_plan(conditions("before"), 4)->plan.entries[0].width, 1);
    EXPECT_EQ(store->find_runs(conditions()).size(), 1u);
    EXPECT_FALSE(store->write({{settled(conditions(), 3)}, {}, {}}).ok());
    EXPECT_EQ(store->find_plan(conditions(), 4)->plan.entries[0].width, 3);
  }
  EXPECT_TRUE(store->unsaved());
  ASSERT_TRUE(store->write({}).ok());  // an empty batch will do
  EXPECT_FALSE(store->unsaved());
  EXPECT_EQ(store->state().keeping, Store::Keeping::kOnDisk);
  EXPECT_EQ(store->state().message, "");
  EXPECT_EQ(store->state().failed_writes, 2u);
  const std::unique_ptr<Store> later = Store::open(path);
  EXPECT_EQ(later->find_plan(conditions(), 4)->plan.entries[0].width, 3);
  EXPECT_EQ(later->find_runs(conditions()).size(), 1u);
}

// F8, F9.
// fault: F8
TEST(Store, CreatesFileLaterIfDiskWasFullAtOpen) {
  const TemporaryDirectory directory;
  const std::string path = directory / "store.db";
  std::unique_ptr<Store> store;
  {
    const NoSpace no_space;
    store = Store::open(path);
    EXPECT_EQ(store->state().keeping, Store::Keeping::kInMemory);
    EXPECT_FALSE(store->write({{settled(conditions(), 2)}, {}, {}}).ok());
    EXPECT_EQ(store->find_plan(conditions(), 4)->plan.entries[0].width, 2);
  }
  ASSERT_TRUE(store->write({}).ok());
  EXPECT_EQ(store->state().keeping, Store::Keeping::kOnDisk);
  EXPECT_EQ(Store::open(path)->find_plan(conditions(), 4)->plan.entries[0].width, 2);
}

// F8: as much is kept as a person would want back, not more.
// fault: F8
TEST(Store, KeepsNewestRunAfterManyFailedWrites) {
  const TemporaryDirectory directory;
  const std::unique_ptr<Store> store = Store::open(directory / "store.db");
  {
    const NoSpace no_space;
    for (int i = 0; i < 280; ++i) {
      EXPECT_FALSE(store->write({{}, {run(RunKind::kTune, "x", 1, i)}, {}}).ok());
    }
  }
  ASSERT_TRUE(store->write({}).ok());
  EXPECT_EQ(store->find_runs(conditions()).front().when, 279);
}

// F12: what somebody took back is not served from the file that still has it.
// fault: F12
TEST(Store, UndoTakesEffectBeforeWrite) {
  const TemporaryDirectory directory;
  const std::unique_ptr<Store> store = Store::open(directory / "store.db");
  ASSERT_TRUE(store->write({{settled(conditions(), 2)}, {}, {}}).ok());
  UndoRecord undo;
  undo.conditions.machine = conditions().machine;
  undo.conditions.program.program = conditions().program.program;
  StoreBatch batch;
  {
    const NoSpace no_space;
    batch.undone = {undo};
    ASSERT_FALSE(store->write(batch).ok());
    EXPECT_TRUE(store->is_undone(conditions()));
    EXPECT_FALSE(store->find_plan(conditions(), 4).has_value());
    batch.undone[0].revoke = true;
    ASSERT_FALSE(store->write(batch).ok());
    EXPECT_FALSE(store->is_undone(conditions()));
    batch.undone[0].revoke = false;
    ASSERT_FALSE(store->write(batch).ok());
  }
  ASSERT_TRUE(store->write({}).ok());
  EXPECT_TRUE(store->is_undone(conditions()));
  EXPECT_FALSE(store->find_plan(conditions(), 4).has_value());
}

// F12: a plan that lost stays lost, and one that was found afterwards stays found.
// fault: F12
TEST(Store, PendingBatchesAreWrittenInOrder) {
  const TemporaryDirectory directory;
  const std::unique_ptr<Store> store = Store::open(directory / "store.db");
  StoreBatch forgotten;
  forgotten.forgotten = {conditions()};
  {
    const NoSpace no_space;
    ASSERT_FALSE(store->write({{settled(conditions(), 2)}, {}, {}}).ok());
    ASSERT_FALSE(store->write(forgotten).ok());
    EXPECT_FALSE(store->find_plan(conditions(), 4).has_value());
  }
  ASSERT_TRUE(store->write({}).ok());
  EXPECT_FALSE(store->find_plan(conditions(), 4).has_value());
  ASSERT_TRUE(store->write({{settled(conditions(), 2)}, {}, {}}).ok());
  {
    const NoSpace no_space;
    ASSERT_FALSE(store->write(forgotten).ok());
    ASSERT_FALSE(store->write({{settled(conditions(), 3)}, {}, {}}).ok());
  }
  ASSERT_TRUE(store->write({}).ok());
  EXPECT_EQ(store->find_plan(conditions(), 4)->plan.entries[0].width, 3);
}

// F11: the journal ends wherever the last write was cut off, as after a kill in the middle of a
// commit or a lost page: what is found is one whole batch, and never a later one than was written.
// fault: F11
TEST(Store, TruncatedJournalLeavesWholeBatches) {
  const TemporaryDirectory directory;
  const std::string path = directory / "store.db";
  const std::unique_ptr<Store> store = Store::open(path);
  for (int batch = 1; batch <= 6; ++batch) {
    ASSERT_TRUE(store->write({{settled(conditions(), batch, 30)}, {}, {}}).ok());
  }
  const std::string journal = path + "-wal";
  const auto whole = std::filesystem::file_size(journal);  // nothing is moved before the close
  ASSERT_GT(whole, 6u * 4096u);
  int last = 0;
  for (std::uintmax_t length = 0;; length += 509) {
    const std::string copy = directory / "copy.db";
    for (const char* suffix : {"", "-wal", "-shm"}) std::filesystem::remove(copy + suffix);
    std::filesystem::copy_file(path, copy);
    std::filesystem::copy_file(journal, copy + "-wal");
    std::filesystem::resize_file(copy + "-wal", std::min(length, whole));
    const std::unique_ptr<Store> cut = Store::open(copy);
    EXPECT_EQ(cut->state().message, "") << length;
    int width = 0;
    if (const std::optional<FoundPlan> found = cut->find_plan(conditions(), 4)) {
      ASSERT_EQ(found->plan.entries.size(), 30u) << length;
      width = found->plan.entries[0].width;
      for (const tuner::StoredEntry& entry : found->plan.entries) EXPECT_EQ(entry.width, width);
    }
    EXPECT_GE(width, last) << length;
    last = width;
    if (length >= whole) break;
  }
  EXPECT_EQ(last, 6);
}

// F11. Killed at any moment: what was acknowledged is there, and what is there is whole.
// fault: F11
TEST(Store, AcknowledgedBatchesSurviveKill) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  const TemporaryDirectory directory;
  for (int round = 0; round < 5; ++round) {
    const std::string path = directory / ("store" + std::to_string(round) + ".db");
    int acknowledged[2];
    ASSERT_EQ(pipe2(acknowledged, O_CLOEXEC), 0);
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      const std::unique_ptr<Store> store = Store::open(path);
      for (int batch = 1; batch <= 8000; ++batch) {
        if (!store->write({{settled(conditions(), batch, 30)}, {}, {}}).ok()) _exit(1);
        if (write(acknowledged[1], &batch, sizeof batch) != sizeof batch) _exit(1);
      }
      _exit(0);
    }
    close(acknowledged[1]);
    int last = 0;
    const int kill_after = 1 + static_cast<int>(random() % 60);
    for (int batch = 0; read(acknowledged[0], &batch, sizeof batch) == sizeof batch;) {
      last = batch;
      if (batch == kill_after) kill(child, SIGKILL);
    }
    close(acknowledged[0]);
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    const std::unique_ptr<Store> store = Store::open(path);
    EXPECT_EQ(store->state().message, "");
    const std::optional<FoundPlan> found = store->find_plan(conditions(), 4);
    ASSERT_TRUE(found.has_value());
    ASSERT_EQ(found->plan.entries.size(), 30u);
    for (const tuner::StoredEntry& entry : found->plan.entries) {
      EXPECT_EQ(entry.width, found->plan.entries[0].width);
    }
    EXPECT_GE(found->plan.entries[0].width, last);
  }
}

}  // namespace
}  // namespace optile::daemon
