// When what could not be written is tried again.
#include "daemon/store/store_batches.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "daemon/store/database.h"
#include "tests/daemon/fixtures/temporary_directory.h"

namespace optile::daemon {
namespace {

using std::chrono::milliseconds;

class StoreBatchesTest : public testing::Test {
 protected:
  StoreBatchesTest() : store_(Store::open(path_)) {
    holder_ = Database::open(path_, {0x6f70746c, 5, ""}).database;
  }
  void SetUp() override {
    ASSERT_NE(holder_, nullptr);
    ASSERT_TRUE(holder_->run("BEGIN IMMEDIATE").ok());  // no write succeeds
  }
  void something_happens() { batches_.of(store_.get()).lending.emplace_back(); }
  milliseconds wait() const { return batches_.next_write().value_or(milliseconds(-1)); }
  void pass(milliseconds time) { now_ns_ += static_cast<uint64_t>(time.count()) * 1000000; }

  uint64_t now_ns_ = 1000000000;
  TemporaryDirectory directory_;
  std::string path_ = directory_ / "store.db";
  std::unique_ptr<Store> store_;
  std::unique_ptr<Database> holder_;
  StoreBatches batches_{[this] { return now_ns_; }};
};

TEST_F(StoreBatchesTest, FrequentFlushesDoNotDelayRetry) {
  for (int i = 0; i < 5; ++i) {
    something_happens();
    batches_.flush(true);
  }
  EXPECT_EQ(store_->state().failed_writes, 5u);
  EXPECT_GT(wait(), milliseconds(3000));
  EXPECT_LE(wait(), milliseconds(6001));
}

TEST_F(StoreBatchesTest, RetryIntervalGrowsUpToOneMinute) {
  something_happens();
  batches_.flush(true);
  milliseconds last(0);
  for (int i = 0; i < 4; ++i) {
    EXPECT_GT(wait(), last);
    last = wait();
    pass(last);
    batches_.flush(false);
  }
  pass(wait());
  batches_.flush(false);
  EXPECT_LE(wait(), milliseconds(60001));
  ASSERT_TRUE(holder_->run("ROLLBACK").ok());
  pass(wait());
  batches_.flush(false);
  EXPECT_EQ(batches_.next_write(), std::nullopt);
  EXPECT_EQ(batches_.pending(), 0u);
  EXPECT_EQ(store_->state().keeping, Store::Keeping::kOnDisk);
}

TEST_F(StoreBatchesTest, WritesDueBatchBeforeRead) {
  ASSERT_TRUE(holder_->run("ROLLBACK").ok());
  batches_.flush(true);
  something_happens();
  batches_.write_due(store_.get());
  EXPECT_EQ(batches_.pending(), 1u) << "it is not";
  batches_.is_due_soon(store_.get());
  EXPECT_LE(wait(), StoreBatches::kTogether + milliseconds(1));
  batches_.write_due(store_.get());
  EXPECT_EQ(batches_.pending(), 0u);
  EXPECT_EQ(batches_.next_write(), std::nullopt);
}

// By how long it has lasted, and not by how many have left meanwhile.
TEST_F(StoreBatchesTest, DueWritesDoNotDelayRetry) {
  for (int i = 0; i < 5; ++i) {
    something_happens();
    batches_.is_due_soon(store_.get());
    pass(StoreBatches::kTogether);
    batches_.flush(false);
  }
  EXPECT_EQ(store_->state().failed_writes, 5u);
  EXPECT_LE(wait(), milliseconds(6001));
}

}  // namespace
}  // namespace optile::daemon
