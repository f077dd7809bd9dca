// Programs that are hard on what lives in them: they close every descriptor, start without the
// standard ones, cancel threads, and make children past the C library.
#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstring>

#include "bindings/preload/support/host_log.h"
#include "tests/preload/fixtures/boundary_fixture.h"
#include "tests/preload/fixtures/cancelled_thread.h"

namespace optile::preload {
namespace {

using test::cancel_a_thread;
using test::FakeDaemon;
using DifficultHost = OpBoundary;

constexpr int kOpsUntilAttached = 100'000'000;

// The number that the next descriptor of this process will have.
int next_descriptor() {
  const int next = memfd_create("next", MFD_CLOEXEC);
  close(next);
  return next;
}

bool is_open(int fd) {
  return fcntl(fd, F_GETFD) != -1;
}

// The daemon has not answered yet, and the number of our connection is the program's by now.
// fault: F44
TEST_F(DifficultHost, ShimDoesNotReadProgramsReusedDescriptor) {
  in_child([](FakeDaemon& daemon) {
    const int ours = next_descriptor();
    run_op(kOp);
    CHECK_OR_EXIT(is_open(ours) && attachment() == nullptr);
    close(ours);
    int pair[2] = {};
    CHECK_OR_EXIT(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) == 0 && pair[0] == ours);
    CHECK_OR_EXIT(write(pair[1], "for the program", 15) == 15);
    // Its connection hangs in the queue before the one that it makes once it has noticed.
    daemon.answer_one_client();
    daemon.wait_for_client();
    daemon.answer_one_client();
    for (int i = 0; i < kOpsUntilAttached && attachment() == nullptr; ++i) run_op(kOp);
    daemon.wait_for_client();
    CHECK_OR_EXIT(attachment() != nullptr);
    char text[16] = "";
    CHECK_OR_EXIT(recv(pair[0], text, sizeof text, MSG_DONTWAIT) == 15);
    CHECK_OR_EXIT(std::strncmp(text, "for the program", 15) == 0);
  });
}

// What it prints is lost for it then, and may not come to the daemon.
// fault: F44
TEST_F(DifficultHost, ClosedStandardDescriptorsStayFree) {
  in_child([](FakeDaemon& daemon) {
    for (int fd = 0; fd < 3; ++fd) close(fd);
    run_op(kOp);
    for (int fd = 0; fd < 3; ++fd) CHECK_OR_EXIT(!is_open(fd));
    // What the daemon opens in this process is not ours.
    for (int fd = 0; fd < 3; ++fd) CHECK_OR_EXIT(memfd_create("taken", MFD_CLOEXEC) == fd);
    daemon.answer_one_client();
    for (int i = 0; i < kOpsUntilAttached && attachment() == nullptr; ++i) run_op(kOp);
    daemon.wait_for_client();
    CHECK_OR_EXIT(attachment() != nullptr);
  });
}

// An op is no point where a thread is cancelled: it may be in the middle of something.
// fault: F44
TEST_F(DifficultHost, OpIsNoCancellationPoint) {
  in_child([](FakeDaemon& daemon) {
    cancel_a_thread([] { run_op(kOp); });  // connects, and waits in vain
    daemon.answer_one_client();
    for (int i = 0; i < kOpsUntilAttached && attachment() == nullptr; ++i) run_op(kOp);
    daemon.wait_for_client();
    CHECK_OR_EXIT(attachment() != nullptr);  // nobody holds the line for ever
    cancel_a_thread([] { run_op(kOp); });
  });
}

// fault: F44
TEST_F(DifficultHost, OpWithoutDaemonIsNoCancellationPoint) {
  in_child([](FakeDaemon& daemon) {
    setenv("OPTILE_SOCKET", (daemon.folder() + "/nobody").c_str(), 1);
    read_environment();
    cancel_a_thread([] { run_op(kOp); });  // says in the log that nobody is there
  });
}

TEST_F(DifficultHost, LoggingIsNoCancellationPoint) {
  in_child([](FakeDaemon& daemon) {
    cancel_a_thread([] { log_line("one"); });
    CHECK_OR_EXIT(access((daemon.folder() + "/clients.log").c_str(), F_OK) == 0);
  });
}

// The signal that comes with it would end the program.
TEST_F(DifficultHost, LogLineBeyondFileSizeLimitIsNotWritten) {
  in_child([](FakeDaemon& daemon) {
    const std::string log = daemon.folder() + "/clients.log";
    const auto size = [&log] {
      struct stat there = {};
      return stat(log.c_str(), &there) == 0 ? there.st_size : -1;
    };
    rlimit most = {};
    CHECK_OR_EXIT(getrlimit(RLIMIT_FSIZE, &most) == 0);
    const rlim_t before = most.rlim_cur;
    most.rlim_cur = 8;
    CHECK_OR_EXIT(setrlimit(RLIMIT_FSIZE, &most) == 0);
    log_line("one");
    CHECK_OR_EXIT(size() == 0);
    most.rlim_cur = before;
    CHECK_OR_EXIT(setrlimit(RLIMIT_FSIZE, &most) == 0);
    log_line("two");
    const off_t one_line = size();
    CHECK_OR_EXIT(one_line > 0);
    CHECK_OR_EXIT(truncate(log.c_str(), 1 << 20) == 0);
    log_line("three");
    CHECK_OR_EXIT(size() == 1 << 20);
  });
}

// As _Fork() does, and whoever calls the kernel: no handler of ours runs in the child.
pid_t fork_past_the_library() {
  return static_cast<pid_t>(syscall(SYS_clone, SIGCHLD, nullptr, nullptr, nullptr, nullptr));
}

void check_child(pid_t child) {
  int status = 0;
  CHECK_OR_EXIT(waitpid(child, &status, 0) == child);
  CHECK_OR_EXIT(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

// fault: F44
TEST_F(DifficultHost, ChildOfRawCloneRunsUnattached) {
  in_child([](FakeDaemon& daemon) {
    const int ours = next_descriptor();
    run_op(kOp);  // connected, and not answered yet
    attach(daemon);
    daemon.publish({{kOp, 2, {}, 0}});
    run_op(kOp);
    CHECK_OR_EXIT(run_op(kOp) == 2 && is_open(ours));
    const pid_t child = fork_past_the_library();
    if (child == 0) {
      const bool untouched = run_op(kOp) == kOwn;
      const bool alone = is_forked_child() && attachment() == nullptr && !is_open(ours);
      std::_Exit(untouched && alone ? 0 : 1);
    }
    check_child(child);
    CHECK_OR_EXIT(run_op(kOp) == 2 && is_open(ours));
  });
}

// fault: F44
TEST_F(DifficultHost, ChildOfRawCloneDoesNotTakeParentsAttachReply) {
  in_child([](FakeDaemon& daemon) {
    run_op(kOp);
    CHECK_OR_EXIT(attachment() == nullptr);
    daemon.answer_one_client();
    daemon.wait_for_client();
    const pid_t child = fork_past_the_library();
    if (child == 0) {
      for (int i = 0; i < 1'000'000; ++i) run_op(kOp);
      std::_Exit(is_forked_child() && attachment() == nullptr ? 0 : 1);
    }
    check_child(child);
    for (int i = 0; i < kOpsUntilAttached && attachment() == nullptr; ++i) run_op(kOp);
    CHECK_OR_EXIT(attachment() != nullptr);
  });
}

}  // namespace
}  // namespace optile::preload
