// How a program comes to its daemon when that has no time for it: how often anything is waited for,
// and that it is attached later all the same.
#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>

#include <cerrno>
#include <string>
#include <vector>

#include "base/unique_fd.h"
#include "bindings/abi/layout.h"
#include "bindings/preload/daemon_link/attach_wait.h"
#include "bindings/preload/daemon_link/runqueue_pressure.h"
#include "tests/preload/fakes/fake_load.h"
#include "tests/preload/fixtures/boundary_fixture.h"

namespace {

int polls = 0;
int asked_ms = 0;

}  // namespace

// The only call by which the shim waits; counted here, in front of the C library's.
extern "C" int poll(pollfd* descriptors, nfds_t count, int timeout) {
  ++polls;
  asked_ms += timeout;
  const timespec limit = {timeout / 1000, timeout % 1000 * 1000000L};
  return static_cast<int>(syscall(SYS_ppoll, descriptors, count, &limit, nullptr, 0));
}

namespace optile::preload {
namespace {

using test::FakeDaemon;
using Attaching = OpBoundary;

constexpr int kManyOps = 100'000'000;  // later tries come after a pause

base::UniqueFd connect_to(const std::string& socket_path) {
  base::UniqueFd fd(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  (socket_path + OPTILE_ATTACH_SUFFIX).copy(address.sun_path, sizeof address.sun_path - 1);
  if (connect(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) fd.reset();
  return fd;
}

// Connections until there is no room for another one.
std::vector<base::UniqueFd> fill_queue(const FakeDaemon& daemon) {
  std::vector<base::UniqueFd> queued;
  for (;;) {
    base::UniqueFd one = connect_to(daemon.socket_path());
    if (!one.valid()) return queued;
    queued.push_back(std::move(one));
  }
}

void run_until_attached() {
  for (int i = 0; i < kManyOps && attachment() == nullptr; ++i) run_op(kOp);
  CHECK_OR_EXIT(attachment() != nullptr);
}

// fault: F13
TEST_F(Attaching, OnlyFirstOpWaitsAndOnlyBriefly) {
  in_child([](FakeDaemon& daemon) {
    CHECK_OR_EXIT(run_op(kOp) == kOwn);  // queued, and nobody answers
    CHECK_OR_EXIT(attachment() == nullptr);
    CHECK_OR_EXIT(polls <= 20);
    CHECK_OR_EXIT(asked_ms <= static_cast<int>(FirstWait::kMostNs / 1000000) + polls);
    const int waited = polls;
    for (int i = 0; i < 100'000; ++i) run_op(kOp);
    CHECK_OR_EXIT(polls == waited);
    daemon.answer_one_client();
    daemon.wait_for_client();
    run_until_attached();
    CHECK_OR_EXIT(polls == waited);
  });
}

TEST_F(Attaching, DoesNotWaitWithoutDaemon) {
  in_child([](FakeDaemon&) {
    setenv("OPTILE_SOCKET", "/nowhere/optiled.sock", 1);
    read_environment();
    for (int i = 0; i < 1000; ++i) CHECK_OR_EXIT(run_op(kOp) == kOwn);
    CHECK_OR_EXIT(polls == 0 && attachment() == nullptr);
  });
}

// fault: F13
TEST_F(Attaching, RetriesFullQueueWithoutWaiting) {
  in_child([](FakeDaemon& daemon) {
    std::vector<base::UniqueFd> queued = fill_queue(daemon);
    CHECK_OR_EXIT(!queued.empty() && errno == EAGAIN);
    for (int i = 0; i < 1000; ++i) CHECK_OR_EXIT(run_op(kOp) == kOwn);
    CHECK_OR_EXIT(polls == 0 && attachment() == nullptr);
    const std::size_t before = queued.size();
    queued.clear();
    for (std::size_t i = 0; i < before; ++i) {
      daemon.answer_one_client();  // one of those, that has hung up
      daemon.wait_for_client();
    }
    daemon.answer_one_client();
    run_until_attached();
    daemon.wait_for_client();
    CHECK_OR_EXIT(polls == 0);
  });
}

// More than so many want to run wherever this test does.
uint32_t crowd_here() {
  return RunqueuePressure::kMostPerProcessor *
             static_cast<uint32_t>(sysconf(_SC_NPROCESSORS_ONLN)) +
         1;
}

// fault: F13
TEST_F(Attaching, PutsOffFirstConnectionUnderRunqueuePressure) {
  in_child([](FakeDaemon& daemon) {
    test::say_runnable(crowd_here());
    const int next = dup(0);
    close(next);
    CHECK_OR_EXIT(run_op(kOp) == kOwn);
    CHECK_OR_EXIT(polls == 0 && attachment() == nullptr);
    CHECK_OR_EXIT(fcntl(next, F_GETFD) == -1);  // not even connected
    daemon.answer_one_client();
    run_until_attached();
    daemon.wait_for_client();
    CHECK_OR_EXIT(polls == 0);
  });
}

// fault: F13
TEST_F(Attaching, LogsMissingDaemonLaterUnderRunqueuePressure) {
  in_child([](FakeDaemon& daemon) {
    const std::string log = daemon.folder() + "/clients.log";
    setenv("OPTILE_SOCKET", (daemon.folder() + "/nobody.sock").c_str(), 1);
    read_environment();
    test::say_runnable(crowd_here());
    run_op(kOp);
    CHECK_OR_EXIT(access(log.c_str(), F_OK) != 0);
    for (int i = 0; i < kManyOps && access(log.c_str(), F_OK) != 0; ++i) run_op(kOp);
    CHECK_OR_EXIT(access(log.c_str(), F_OK) == 0);
  });
}

// fault: F13
TEST_F(Attaching, FirstOpWaitsBelowRunqueuePressure) {
  in_child([](FakeDaemon&) {
    test::say_runnable(crowd_here() - 1);
    run_op(kOp);
    CHECK_OR_EXIT(polls > 0);
  });
}

// A child of one that was put off is its parent's all the same: it may have left it a team.
TEST_F(Attaching, ForkedChildOfDelayedClientDoesNotAttach) {
  in_child([](FakeDaemon& daemon) {
    test::say_runnable(crowd_here());
    run_op(kOp);
    const pid_t child = fork();
    if (child == 0) {
      for (int i = 0; i < 1'000'000; ++i) run_op(kOp);
      std::_Exit(is_forked_child() && attachment() == nullptr ? 0 : 1);
    }
    int status = 0;
    waitpid(child, &status, 0);
    CHECK_OR_EXIT(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    daemon.answer_one_client();
    run_until_attached();
    daemon.wait_for_client();
  });
}

// The system's daemon has no time for it: the user's, which takes nobody beside that, is not asked.
TEST_F(Attaching, FullSystemDaemonIsNotReplacedByUserDaemon) {
  in_child([](FakeDaemon& daemon) {
    FakeDaemon systems(daemon.folder() + "/system");
    setenv("OPTILE_SOCKET_SOURCE", "launcher", 1);
    setenv("OPTILE_SYSTEM_SOCKET", systems.socket_path().c_str(), 1);
    read_environment();
    CHECK_OR_EXIT(systems.socket_path() + OPTILE_ATTACH_SUFFIX == environment().system_attach_path);
    const std::vector<base::UniqueFd> queued = fill_queue(systems);
    for (int i = 0; i < 1000; ++i) CHECK_OR_EXIT(run_op(kOp) == kOwn);
    CHECK_OR_EXIT(polls == 0 && attachment() == nullptr);
  });
}

// fault: F13
TEST_F(Attaching, RetriesAfterRejection) {
  in_child([](FakeDaemon& daemon) {
    for (int round = 0; round < 3; ++round) {
      daemon.turn_one_away();
      for (int i = 0; i < kManyOps && daemon.turned_away() == round; ++i) run_op(kOp);
      daemon.wait_for_client();
    }
    CHECK_OR_EXIT(attachment() == nullptr);
    const int waited = polls;
    daemon.answer_one_client();
    run_until_attached();
    daemon.wait_for_client();
    CHECK_OR_EXIT(polls == waited);
  });
}

__attribute__((noinline)) void open_serial_region() {
  int threads = 0;
#pragma omp parallel num_threads(1)
  threads += omp_get_num_threads();
  CHECK_OR_EXIT(threads == 1);
}

// While nobody listens they cost little more than a look at the clock.
TEST_F(Attaching, RegionsWithoutOpsRetryAttaching) {
  in_unsteered_child([](FakeDaemon& daemon) {
    daemon.turn_one_away();
    for (int i = 0; i < kManyOps && daemon.turned_away() == 0; ++i) open_serial_region();
    daemon.wait_for_client();
    CHECK_OR_EXIT(attachment() == nullptr);
    daemon.answer_one_client();
    for (int i = 0; i < kManyOps && attachment() == nullptr; ++i) open_serial_region();
    daemon.wait_for_client();
    CHECK_OR_EXIT(attachment() != nullptr);
    open_serial_region();
    const optile_client_region& client = daemon.client();
    CHECK_OR_EXIT(client.header.registry_count == 1);
    CHECK_OR_EXIT(client.ops[0].flags == OPTILE_OP_REGION);
  });
}

}  // namespace
}  // namespace optile::preload
