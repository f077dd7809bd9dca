// The mask of what is started, by the functions as a program calls them: the core's objects are
// this program's.
#include "bindings/preload/children/started_mask.h"

#include <gtest/gtest.h>
#include <pthread.h>
#include <spawn.h>
#include <sys/wait.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>

#include "tests/preload/fixtures/boundary_fixture.h"
#include "tests/preload/fixtures/thread_mask.h"

extern char** environ;  // NOLINT(readability-redundant-declaration): POSIX wants it declared

namespace optile::preload {
namespace {

using test::FakeDaemon;

constexpr int kNotExecuted = 100;
const char* const kShell = "/bin/sh";
// Ends with the number of the only unit that it may run on, else with 255.
const char* const kAsk =
    "units=$(sed -n 's/^Cpus_allowed_list:[^0-9]*//p' /proc/self/status); "
    "case $units in *[!0-9]*) exit 255;; esac; exit $units";
const std::array<char*, 4> kShellCommand = {const_cast<char*>("sh"), const_cast<char*>("-c"),
                                            const_cast<char*>(kAsk), nullptr};

int end_of(pid_t child) {
  int status = 0;
  CHECK_OR_EXIT(waitpid(child, &status, 0) == child && WIFEXITED(status));
  return WEXITSTATUS(status);
}

int by_vfork() {
  const pid_t child = vfork();
  if (child == 0) {
    execv("/no/such/program", kShellCommand.data());
    execv(kShell, kShellCommand.data());
    _exit(kNotExecuted);
  }
  return end_of(child);
}

int by_fork() {
  const pid_t child = fork();
  if (child == 0) {
    execlp("sh", "sh", "-c", kAsk, nullptr);
    _exit(kNotExecuted);
  }
  return end_of(child);
}

int by_spawn() {
  pid_t child = 0;
  CHECK_OR_EXIT(posix_spawn(&child, kShell, nullptr, nullptr, kShellCommand.data(), environ) == 0);
  return end_of(child);
}

int by_popen() {
  FILE* stream = popen(kAsk, "r");
  CHECK_OR_EXIT(stream != nullptr);
  return WEXITSTATUS(pclose(stream));
}

int by_system() {
  return WEXITSTATUS(system(kAsk));
}

// What a program says that is started in each way: all the same.
int unit_of_started() {
  const int unit = by_vfork();
  CHECK_OR_EXIT(by_fork() == unit && by_spawn() == unit && by_popen() == unit);
  CHECK_OR_EXIT(by_system() == unit);
  return unit;
}

class StartedMasks : public OpBoundary {
 protected:
  void SetUp() override {
    if (own_mask().size() < 2) GTEST_SKIP() << "one processing unit: every mask is the same";
  }

  static void attach_held_to(FakeDaemon& daemon, int unit) {
    attach(daemon);
    daemon.hold({unit});
    move_this_thread({unit});
  }
};
constexpr int kSeveral = 255;

TEST_F(StartedMasks, StartedProgramsDoNotInheritLease) {
  in_child([](FakeDaemon& daemon) {
    const Mask all = own_mask();
    attach_held_to(daemon, all[0]);
    errno = 77;
    CHECK_OR_EXIT(unit_of_started() == kSeveral);
    CHECK_OR_EXIT(own_mask() == Mask{all[0]});
    // It moves: what is held counts, not what was held.
    daemon.hold({all[1]});
    CHECK_OR_EXIT(unit_of_started() == all[0]);
    move_this_thread({all[1]});
    CHECK_OR_EXIT(unit_of_started() == kSeveral);
    CHECK_OR_EXIT(own_mask() == Mask{all[1]});
  });
}

TEST_F(StartedMasks, StartedProgramsInheritMaskSetFromOutside) {
  in_child([](FakeDaemon& daemon) {
    const Mask all = own_mask();
    attach(daemon);
    move_this_thread({all[0]});  // from outside, by a user
    CHECK_OR_EXIT(unit_of_started() == all[0]);
    daemon.hold({all[1]});
    CHECK_OR_EXIT(unit_of_started() == all[0]);
    CHECK_OR_EXIT(own_mask() == Mask{all[0]});
  });
}

// Also where it is the same as the lease's by chance.
TEST_F(StartedMasks, StartedProgramsInheritMaskSetByProgram) {
  in_child([](FakeDaemon& daemon) {
    const Mask all = own_mask();
    attach(daemon);
    daemon.hold({all[0]});
    cpu_set_t first;
    CPU_ZERO(&first);
    CPU_SET(static_cast<unsigned>(all[0]), &first);
    CHECK_OR_EXIT(sched_setaffinity(0, sizeof first, &first) == 0);
    CHECK_OR_EXIT(unit_of_started() == all[0]);
    daemon.hold({all[1]});
    cpu_set_t second;
    CPU_ZERO(&second);
    CPU_SET(static_cast<unsigned>(all[1]), &second);
    CHECK_OR_EXIT(pthread_setaffinity_np(pthread_self(), sizeof second, &second) == 0);
    CHECK_OR_EXIT(unit_of_started() == all[1]);
  });
}

const optile_thread_binding& binding_of(const FakeDaemon& daemon, int tid) {
  return daemon.client().bindings[static_cast<uint32_t>(tid) % OPTILE_MAX_BINDINGS];
}

TEST_F(StartedMasks, BindingIsReportedToDaemon) {
  in_child([](FakeDaemon& daemon) {
    const Mask all = own_mask();
    attach(daemon);
    const auto self = static_cast<int>(syscall(SYS_gettid));
    cpu_set_t units;
    CPU_ZERO(&units);
    CPU_SET(static_cast<unsigned>(all[0]), &units);
    CHECK_OR_EXIT(sched_setaffinity(0, sizeof units, &units) == 0);
    const optile_thread_binding& own = binding_of(daemon, self);
    CHECK_OR_EXIT(own.count == 2 && own.thread == 2 * static_cast<uint64_t>(self));
    const auto first = static_cast<uint32_t>(all[0]);
    CHECK_OR_EXIT(own.units[first / 64] == uint64_t{1} << (first % 64));
    // One that the kernel refuses binds nobody.
    CPU_ZERO(&units);
    CHECK_OR_EXIT(sched_setaffinity(0, sizeof units, &units) == -1);
    CHECK_OR_EXIT(own.count == 4 && own.thread == 0);
  });
}

TEST_F(StartedMasks, BindingOfOtherThreadIsReportedByTid) {
  in_child([](FakeDaemon& daemon) {
    static int tid = 0;
    const Mask all = own_mask();
    attach(daemon);
    pthread_t thread;
    const auto body = [](void*) -> void* {
      __atomic_store_n(&tid, static_cast<int>(syscall(SYS_gettid)), __ATOMIC_RELEASE);
      for (;;) pause();
    };
    CHECK_OR_EXIT(pthread_create(&thread, nullptr, body, nullptr) == 0);
    while (__atomic_load_n(&tid, __ATOMIC_ACQUIRE) == 0) sched_yield();
    cpu_set_t units;
    CPU_ZERO(&units);
    CPU_SET(static_cast<unsigned>(all[1]), &units);
    CHECK_OR_EXIT(pthread_setaffinity_np(thread, sizeof units, &units) == 0);
    CHECK_OR_EXIT(binding_of(daemon, tid).thread == 2 * static_cast<uint64_t>(tid));
  });
}

TEST_F(StartedMasks, ForkedChildKeepsLeaseUntilExec) {
  in_child([](FakeDaemon& daemon) {
    const Mask all = own_mask();
    attach_held_to(daemon, all[0]);
    const pid_t child = fork();
    if (child == 0) {
      CHECK_OR_EXIT(own_mask() == Mask{all[0]});
      CHECK_OR_EXIT(by_fork() == kSeveral);  // its own children know as well
      CHECK_OR_EXIT(own_mask() == Mask{all[0]});
      execv("/no/such/program", kShellCommand.data());
      CHECK_OR_EXIT(own_mask() == Mask{all[0]});
      execv(kShell, kShellCommand.data());
      _exit(kNotExecuted);
    }
    CHECK_OR_EXIT(end_of(child) == kSeveral);
  });
}

TEST_F(StartedMasks, EndedOrMovedLeaseIsNotRestored) {
  in_child([](FakeDaemon& daemon) {
    const Mask all = own_mask();
    attach_held_to(daemon, all[0]);
    errno = 77;
    StartedMask ended;
    CHECK_OR_EXIT(own_mask() == all && errno == 77);
    daemon.hold({});
    ended.put_back();
    CHECK_OR_EXIT(own_mask() == all && errno == 77);
    daemon.hold({all[0]});
    move_this_thread({all[0]});
    StartedMask moved;
    move_this_thread({all[1]});
    moved.put_back();
    CHECK_OR_EXIT(own_mask() == Mask{all[1]});
  });
}

}  // namespace
}  // namespace optile::preload
