// A lock that is not waited for for ever.
#include "bindings/preload/support/progress_lock.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

namespace optile::preload {
namespace {

TEST(ProgressLock, ExcludesOthersHoweverItIsTaken) {
  constexpr int kThreads = 4, kRounds = 20000;
  ProgressLock lock;
  int64_t sum = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&] {
      for (int round = 0; round < kRounds; ++round) {
        while (!(round % 2 == 0 ? lock.acquire() : lock.acquire_soon())) {
        }
        ++sum;
        lock.release();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(sum, int64_t{kThreads} * kRounds);
}

TEST(ProgressLock, TriesWithoutWaiting) {
  ProgressLock lock;
  EXPECT_TRUE(lock.try_acquire());
  EXPECT_FALSE(lock.try_acquire());
  lock.release();
  EXPECT_TRUE(lock.acquire());
}

// The holder waits for the one that waits for it, as two ops of a program may.
TEST(ProgressLock, GivesUpWhereHolderWaits) {
  ProgressLock lock;
  ASSERT_TRUE(lock.acquire());
  std::atomic<bool> gave_up{false};
  std::thread other([&] {
    gave_up = !lock.acquire_soon();
    gave_up.notify_one();
  });
  gave_up.wait(false);
  other.join();
  lock.release();
  EXPECT_TRUE(lock.acquire());
}

// The same, while some thread of the program computes for ever.
TEST(ProgressLock, GivesUpBesideComputingThread) {
  ProgressLock lock;
  ASSERT_TRUE(lock.acquire());
  std::atomic<bool> over{false};
  std::thread computing([&] {
    while (!over.load(std::memory_order_relaxed)) {
    }
  });
  EXPECT_FALSE(lock.acquire());
  over = true;
  computing.join();
}

}  // namespace
}  // namespace optile::preload
