// A word of the user in the store: it holds until the user takes it back.
#include <gtest/gtest.h>

#include "daemon/store/store.h"
#include "tests/daemon/fixtures/temporary_directory.h"

namespace optile::daemon {
namespace {

constexpr int kMoreThanAreKept = 600;  // programs, by their arguments
const Database::Identity kAsOlderOnes = {0x6f70746c, 5, ""};

Conditions conditions_of(const std::string& program, const std::string& arguments = "") {
  return {"a machine", {"/usr/bin/python3", program, arguments}, "openmp=llvm", 2};
}

StoreBatch runs_of_many(const std::string& program) {
  StoreBatch batch;
  for (int i = 0; i < kMoreThanAreKept; ++i) {
    RunRecord one;
    one.conditions = conditions_of(program, "--seed " + std::to_string(i));
    one.when = 2000 + i;
    batch.runs.push_back(one);
  }
  return batch;
}

StoreBatch word(const std::string& program, bool revoke = false) {
  StoreBatch batch;
  batch.undone.push_back({conditions_of(program), revoke, 1000});
  return batch;
}

class StoreUndoTest : public testing::Test {
 protected:
  StoreUndoTest() {
    StoreBatch known;
    known.runs.push_back({});
    known.runs.back().conditions = conditions_of("train.py", "--seed 0");
    known.runs.back().when = 1;
    EXPECT_TRUE(Store::open(path_)->write(known).ok());
  }
  void write(const StoreBatch& batch) { ASSERT_TRUE(Store::open(path_)->write(batch).ok()); }
  bool is_undone(const std::string& program) {
    return Store::open(path_)->is_undone(conditions_of(program, "never seen"));
  }
  int64_t count(const std::string& table) {
    const Database::Opened opened = Database::open(path_, kAsOlderOnes);
    return as_integer(opened.database->query("SELECT count(*) FROM " + table).value()[0][0]);
  }

  TemporaryDirectory directory_;
  std::string path_ = directory_ / "store.db";
};

TEST_F(StoreUndoTest, OutlivesRunsWithOtherArguments) {
  write(word("train.py"));
  write(runs_of_many("train.py"));
  EXPECT_EQ(count("programs"), 512);
  EXPECT_TRUE(is_undone("train.py"));
  write(word("train.py", true));
  EXPECT_FALSE(is_undone("train.py"));
}

TEST_F(StoreUndoTest, OutlivesRunsOfOtherPrograms) {
  write(word(""));  // of every program that is known
  write(runs_of_many("other.py"));
  EXPECT_TRUE(is_undone("train.py"));
  EXPECT_FALSE(is_undone("other.py"));
}

TEST_F(StoreUndoTest, AppliesToNamedProgramNotYetKnown) {
  write(word("soon.py"));
  EXPECT_TRUE(is_undone("soon.py"));
}

TEST_F(StoreUndoTest, PrunesOldestUndos) {
  write({});
  ASSERT_TRUE(Database::open(path_, kAsOlderOnes)
                  .database
                  ->run("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE "
                        "i < 5000) INSERT INTO undone SELECT 'a machine', 'p' || i, i FROM n")
                  .ok());
  StoreBatch batch = word("train.py");
  batch.undone[0].when = 6000;
  write(batch);
  EXPECT_EQ(count("undone"), 4096);
  EXPECT_TRUE(is_undone("train.py"));
  EXPECT_TRUE(is_undone("p5000"));
  EXPECT_FALSE(is_undone("p1"));
}

}  // namespace
}  // namespace optile::daemon
