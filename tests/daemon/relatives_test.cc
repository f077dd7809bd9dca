#include "daemon/relatives.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>

#include <future>
#include <string>
#include <thread>

namespace optile::daemon {
namespace {

using ::testing::Contains;
using ::testing::Not;

// A process that waits, of the run `id`.
class Waiting {
 public:
  explicit Waiting(const std::string& id) {
    std::string run = "OPTILE_RUN_ID=" + id;
    std::string name = "sleep";
    std::string seconds = "600";
    char* arguments[] = {name.data(), seconds.data(), nullptr};
    char* variables[] = {run.data(), nullptr};
    if (posix_spawn(&pid_, "/bin/sleep", nullptr, nullptr, arguments, variables) != 0) pid_ = 0;
  }
  Waiting(const Waiting&) = delete;
  Waiting& operator=(const Waiting&) = delete;
  ~Waiting() {
    if (pid_ <= 0) return;
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  int pid() const { return pid_; }

 private:
  pid_t pid_ = 0;
};

TEST(Relatives, WhatAnotherThreadStartedIsOne) {
  const Waiting client("one-run");
  std::promise<int> started;
  std::promise<void> done;
  // The kernel lists a child with the thread that started it, while that thread lives.
  std::thread other([&] {
    const Waiting sibling("one-run");
    started.set_value(sibling.pid());
    done.get_future().wait();
  });
  const int sibling = started.get_future().get();
  const Waiting stranger("another-run");
  const std::vector<int> found = relatives_of({client.pid()}, "");
  done.set_value();
  other.join();
  EXPECT_THAT(found, Contains(sibling));
  EXPECT_THAT(found, Not(Contains(stranger.pid())));
  EXPECT_THAT(found, Not(Contains(client.pid())));
}

}  // namespace
}  // namespace optile::daemon
