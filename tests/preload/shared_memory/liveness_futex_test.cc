// Who holds the liveness futex, seen through the whole shim: attaching, ops on several threads,
// forks. What the daemon makes of it is in tests/daemon/process/exit_monitor_test.cc.
#include "bindings/preload/shared_memory/liveness_futex.h"

#include <pthread.h>
#include <sys/wait.h>

#include <array>
#include <barrier>
#include <cerrno>
#include <thread>

#include "tests/preload/fixtures/boundary_fixture.h"

namespace optile::preload {
namespace {

using test::FakeDaemon;

uint32_t word_of(const FakeDaemon& daemon) {
  return optile_load32(optile_liveness_futex(&daemon.client().header));
}

bool held_by_this_thread(const FakeDaemon& daemon) {
  return word_of(daemon) == (FUTEX_WAITERS | static_cast<uint32_t>(gettid()));
}

using LivenessFutex = OpBoundary;

TEST_F(LivenessFutex, IsHeldByAttachingThreadWithWaitersBit) {
  in_child([](FakeDaemon& daemon) {
    attach(daemon);
    CHECK_OR_EXIT(held_by_this_thread(daemon));
    run_op(kOp);
    std::thread([] { run_op(kOp); }).join();
    CHECK_OR_EXIT(held_by_this_thread(daemon));
  });
}

// fault: F2
TEST_F(LivenessFutex, NextOpTakesOverAfterOwnerEnds) {
  in_child([](FakeDaemon& daemon) {
    std::thread([&] { attach(daemon); }).join();
    CHECK_OR_EXIT(word_of(daemon) == (FUTEX_WAITERS | FUTEX_OWNER_DIED));
    CHECK_OR_EXIT(run_op(kOp) == kOwn);
    CHECK_OR_EXIT(held_by_this_thread(daemon));
    // Again and again: every owner may end.
    for (int i = 0; i < 20; ++i) {
      std::thread([&] {
        run_op(kOp);
        CHECK_OR_EXIT((word_of(daemon) & FUTEX_OWNER_DIED) == 0);
      }).join();
      CHECK_OR_EXIT(held_by_this_thread(daemon));
    }
  });
}

TEST_F(LivenessFutex, OneOfSeveralThreadsTakesOver) {
  in_child([](FakeDaemon& daemon) {
    std::thread([&] { attach(daemon); }).join();
    for (int round = 0; round < 20; ++round) {
      CHECK_OR_EXIT((word_of(daemon) & FUTEX_OWNER_DIED) != 0);
      std::array<std::thread, 4> threads;
      std::barrier together(static_cast<std::ptrdiff_t>(threads.size()));
      for (std::thread& one : threads) {
        one = std::thread([&] {
          together.arrive_and_wait();
          run_op(kOp);
          together.arrive_and_wait();  // nobody ends before all have had their turn
          CHECK_OR_EXIT((word_of(daemon) & FUTEX_OWNER_DIED) == 0);
          CHECK_OR_EXIT((word_of(daemon) & FUTEX_TID_MASK) != 0);
          together.arrive_and_wait();
        });
      }
      for (std::thread& one : threads) one.join();
    }
  });
}

TEST_F(LivenessFutex, ForkedChildNeitherHoldsNorTakesOver) {
  in_child([](FakeDaemon& daemon) {
    attach(daemon);
    const pid_t child = fork();
    if (child == 0) {
      run_op(kOp);
      std::_Exit(0);
    }
    int status = 0;
    CHECK_OR_EXIT(waitpid(child, &status, 0) == child && WIFEXITED(status));
    CHECK_OR_EXIT(held_by_this_thread(daemon));
  });
}

// The program's own robust mutexes share the thread's list with ours.
TEST_F(LivenessFutex, ProgramsRobustMutexesStillWork) {
  in_child([](FakeDaemon& daemon) {
    pthread_mutexattr_t robust;
    pthread_mutexattr_init(&robust);
    pthread_mutexattr_setrobust(&robust, PTHREAD_MUTEX_ROBUST);
    pthread_mutex_t before, after;
    pthread_mutex_init(&before, &robust);
    pthread_mutex_init(&after, &robust);
    std::thread([&] {
      CHECK_OR_EXIT(pthread_mutex_lock(&before) == 0);
      attach(daemon);
      CHECK_OR_EXIT(pthread_mutex_lock(&after) == 0);
      CHECK_OR_EXIT(pthread_mutex_unlock(&before) == 0);
      CHECK_OR_EXIT(pthread_mutex_lock(&before) == 0);
    }).join();
    CHECK_OR_EXIT(word_of(daemon) == (FUTEX_WAITERS | FUTEX_OWNER_DIED));
    CHECK_OR_EXIT(pthread_mutex_lock(&before) == EOWNERDEAD);
    CHECK_OR_EXIT(pthread_mutex_lock(&after) == EOWNERDEAD);
  });
}

}  // namespace
}  // namespace optile::preload
