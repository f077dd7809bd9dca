#include "daemon/process/process_clock.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <thread>

namespace optile::daemon {
namespace {

using std::chrono::milliseconds;

void use_processor(milliseconds time) {
  const milliseconds until = *process_cpu_time(getpid()) + time;
  while (*process_cpu_time(getpid()) < until) continue;
}

TEST(ProcessClock, CountsCpuTimeOfAllThreads) {
  const auto before = process_cpu_time(getpid());
  ASSERT_TRUE(before);
  use_processor(milliseconds(30));
  const auto between = process_cpu_time(getpid());
  EXPECT_GE(*between - *before, milliseconds(30));
  std::thread([] { use_processor(milliseconds(30)); }).join();
  EXPECT_GE(*process_cpu_time(getpid()) - *between, milliseconds(30)) << "also of one that ended";
}

TEST(ProcessClock, ReadsAnotherProcessUntilReaped) {
  const pid_t child = fork();
  if (child == 0) {
    pause();
    _exit(0);
  }
  EXPECT_LT(process_cpu_time(child).value_or(milliseconds(1000)), milliseconds(1000));
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  EXPECT_FALSE(process_cpu_time(child));
  EXPECT_FALSE(process_cpu_time(0));
  EXPECT_FALSE(process_cpu_time(-1));
}

}  // namespace
}  // namespace optile::daemon
