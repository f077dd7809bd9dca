// The arena over a pool that has Eigen's interface, used through that interface as TensorFlow does.
#include "bindings/preload/probes/tensorflow/pool_arena.h"

#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <stdexcept>
#include <thread>
#include <vector>

// Eigen's, as it declares it.
namespace Eigen {

class ThreadPoolInterface {
 public:
  virtual void Schedule(std::function<void()> task) = 0;
  virtual void ScheduleWithHint(std::function<void()> task, int /*start*/, int /*end*/) {
    Schedule(std::move(task));
  }
  virtual void Cancel() {}
  virtual int NumThreads() const = 0;
  virtual int CurrentThreadId() const = 0;
  virtual ~ThreadPoolInterface() = default;
};

}  // namespace Eigen

namespace optile::preload {
namespace {

class Pool : public Eigen::ThreadPoolInterface {
 public:
  explicit Pool(int threads) {
    for (int i = 0; i < threads; ++i) threads_.emplace_back([this] { work(); });
  }
  ~Pool() override {
    {
      const std::lock_guard lock(mutex_);
      over_ = true;
    }
    wake_.notify_all();
    for (std::thread& thread : threads_) thread.join();
  }
  void Schedule(std::function<void()> task) override {
    {
      const std::lock_guard lock(mutex_);
      tasks_.push_back(std::move(task));
    }
    wake_.notify_one();
  }
  int NumThreads() const override { return static_cast<int>(threads_.size()); }
  int CurrentThreadId() const override { return -1; }

 private:
  void work() {
    std::unique_lock lock(mutex_);
    while (true) {
      wake_.wait(lock, [this] { return over_ || !tasks_.empty(); });
      if (tasks_.empty()) return;
      {
        const std::function<void()> task = std::move(tasks_.front());
        tasks_.pop_front();
        lock.unlock();
        task();
      }
      lock.lock();
    }
  }

  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<std::function<void()>> tasks_;
  bool over_ = false;
  std::vector<std::thread> threads_;
};

// Counts down, and waits for it.
class Countdown {
 public:
  explicit Countdown(int count) : left_(count) {}
  void down() {
    const std::lock_guard lock(mutex_);
    if (--left_ == 0) zero_.notify_all();
  }
  void wait() {
    std::unique_lock lock(mutex_);
    zero_.wait(lock, [this] { return left_ == 0; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable zero_;
  int left_;
};

Eigen::ThreadPoolInterface* as_eigen(PoolArena& arena) {
  return static_cast<Eigen::ThreadPoolInterface*>(arena.as_pool());
}

TEST(PoolArena, RunsAllTasksAtMostWidthAtOnce) {
  constexpr int kTasks = 2000;  // more than may wait in the arena
  constexpr int kWidth = 3;
  const auto arena = std::make_unique<PoolArena>();
  Pool pool(kWidth);
  arena->open(&pool, kWidth);
  Eigen::ThreadPoolInterface* eigen = as_eigen(*arena);
  EXPECT_EQ(eigen->NumThreads(), kWidth);
  EXPECT_EQ(eigen->CurrentThreadId(), -1);
  Countdown left(kTasks);
  std::atomic<int> done{0};
  const auto token = std::make_shared<int>(0);  // a task that has to be destroyed
  for (int i = 0; i < kTasks; ++i) {
    eigen->Schedule([&, token] {
      done.fetch_add(1);
      left.down();
    });
  }
  left.wait();
  EXPECT_EQ(done.load(), kTasks);
  while (token.use_count() > 1) std::this_thread::yield();
}

TEST(PoolArena, KeepsToItsWidthInWiderPool) {
  constexpr int kWidth = 2;
  constexpr int kTasks = 200;
  const auto arena = std::make_unique<PoolArena>();
  Pool pool(8);
  arena->open(&pool, kWidth);
  Eigen::ThreadPoolInterface* eigen = as_eigen(*arena);
  Countdown left(kTasks);
  std::atomic<int> running{0}, most{0};
  std::mutex mutex;
  std::set<int> numbers, now;
  for (int i = 0; i < kTasks; ++i) {
    eigen->ScheduleWithHint(
        [&] {
          const int together = running.fetch_add(1) + 1;
          for (int seen = most.load();
               together > seen && !most.compare_exchange_weak(seen, together);) {
          }
          const int number = eigen->CurrentThreadId();
          {
            const std::lock_guard lock(mutex);
            EXPECT_TRUE(now.insert(number).second) << "two at once have number " << number;
            numbers.insert(number);
          }
          std::this_thread::yield();
          {
            const std::lock_guard lock(mutex);
            now.erase(number);
          }
          running.fetch_sub(1);
          left.down();
        },
        0, 1);
  }
  left.wait();
  EXPECT_LE(most.load(), kWidth);
  for (const int number : numbers) {
    EXPECT_GE(number, 0);
    EXPECT_LT(number, kWidth);
  }
}

TEST(PoolArena, NarrowestRunsTasksOnCallersThread) {
  const auto arena = std::make_unique<PoolArena>();
  Pool pool(2);
  arena->open(&pool, 1);
  Eigen::ThreadPoolInterface* eigen = as_eigen(*arena);
  std::vector<int> order;
  eigen->Schedule([&] {
    EXPECT_EQ(eigen->CurrentThreadId(), 0);
    eigen->Schedule([&] { order.push_back(2); });
    order.push_back(1);
  });
  EXPECT_EQ(order, (std::vector<int>{1, 2}));
  EXPECT_EQ(eigen->CurrentThreadId(), -1);
}

TEST(PoolArena, NarrowestOutlivesTaskThatThrows) {
  const auto arena = std::make_unique<PoolArena>();
  Pool pool(2);
  arena->open(&pool, 1);
  Eigen::ThreadPoolInterface* eigen = as_eigen(*arena);
  const auto token = std::make_shared<int>(0);
  int done = 0;
  EXPECT_THROW(eigen->Schedule([&, token] {
    eigen->Schedule([&done, token] { ++done; });  // nobody waits for it any more
    throw std::runtime_error("a part of a kernel failed");
  }),
               std::runtime_error);
  EXPECT_EQ(token.use_count(), 1);
  EXPECT_EQ(eigen->CurrentThreadId(), -1);
  eigen->Schedule([&done] { done += 10; });
  EXPECT_EQ(done, 10);
}

TEST(PoolArena, RunsTasksThatTasksSchedule) {
  const auto arena = std::make_unique<PoolArena>();
  Pool pool(2);
  arena->open(&pool, 1);
  Eigen::ThreadPoolInterface* eigen = as_eigen(*arena);
  Countdown left(63);
  const std::function<void(int)> halve = [&](int depth) {
    left.down();
    if (depth == 0) return;
    for (int i = 0; i < 2; ++i) eigen->Schedule([&halve, depth] { halve(depth - 1); });
  };
  eigen->Schedule([&halve] { halve(5); });
  left.wait();
}

TEST(PoolArena, TrustsNoPoolWithOtherFunctions) {
  EXPECT_FALSE(fits_pool(nullptr));
  class Other {
   public:
    virtual ~Other() = default;
    virtual void first() {}
    virtual void second() {}
    virtual void third() {}
    virtual void fourth() {}
  };
  const Other other;
  EXPECT_FALSE(fits_pool(&other));
}

}  // namespace
}  // namespace optile::preload
