#include "daemon/process/exit_monitor.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <climits>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <thread>

#include "base/text_file.h"
#include "bindings/preload/shared_memory/liveness_futex.h"
#include "daemon/process/process_entry.h"
#include "daemon/process/sched_policy.h"
#include "tests/daemon/fixtures/frozen_group.h"
#include "tests/daemon/fixtures/running_daemon.h"

namespace optile::daemon {
namespace {

constexpr int kDeadlineMs = 20000;

// A word as a client's, in this process's memory.
struct Word {
  uint32_t value = 0;

  void set(uint32_t next) {
    __atomic_store_n(&value, next, __ATOMIC_RELEASE);
    wake();
  }
  void wake() { syscall(SYS_futex, &value, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0); }
};

constexpr uint32_t kHeld = FUTEX_WAITERS | 4711;
constexpr uint32_t kLoose = FUTEX_WAITERS | FUTEX_OWNER_DIED;

class ExitMonitorTest : public ::testing::Test {
 protected:
  void SetUp() override {
    base::Result<std::unique_ptr<ExitMonitor>> made = ExitMonitor::make();
    if (!made.ok()) GTEST_SKIP() << made.message();
    watch_ = std::move(made).value();
  }
  // The next that were told; empty at the deadline.
  std::vector<uint64_t> wait() {
    for (;;) {
      pollfd ready = {watch_->descriptor(), POLLIN, 0};
      if (poll(&ready, 1, kDeadlineMs) != 1) return {};
      std::vector<uint64_t> told = watch_->take();
      if (!told.empty()) return told;
    }
  }
  // Until the helper has looked at that process so often.
  static bool looked(const std::atomic<int>& looks, int at_least) {
    for (int i = 0; i < kDeadlineMs && looks < at_least; ++i) poll(nullptr, 0, 1);
    return looks >= at_least;
  }

  // Words and looks of a test are its locals: declared after them, this ends the watch before them.
  struct WatchedUntilHere {
    std::unique_ptr<ExitMonitor>& watch;
    ~WatchedUntilHere() { watch.reset(); }
  };

  std::unique_ptr<ExitMonitor> watch_;
};

// Who may not be real-time stays as it was; who may is so from a death until it has been acted on.
TEST_F(ExitMonitorTest, DaemonThreadIsRealTimeUntilExitIsHandled) {
  std::thread trial([] {
    const bool may = set_realtime();
    EXPECT_EQ(sched_getscheduler(0), may ? SCHED_FIFO | SCHED_RESET_ON_FORK : SCHED_OTHER);
    std::thread([] { EXPECT_EQ(sched_getscheduler(0), SCHED_OTHER); }).join();
    restore_policy();
    EXPECT_EQ(sched_getscheduler(0), SCHED_OTHER | (may ? SCHED_RESET_ON_FORK : 0));
  });
  trial.join();
  bool may = false;
  std::thread([&] { may = set_realtime(); }).join();

  Word word;
  word.value = kHeld;
  const WatchedUntilHere here{watch_};
  ASSERT_TRUE(watch_->add({7, &word.value, [] { return true; }}));
  EXPECT_EQ(sched_getscheduler(0) & ~SCHED_RESET_ON_FORK, SCHED_OTHER);
  word.set(kLoose);
  ASSERT_EQ(wait(), std::vector<uint64_t>{7});
  EXPECT_EQ(sched_getscheduler(0) & ~SCHED_RESET_ON_FORK, may ? SCHED_FIFO : SCHED_OTHER);
  watch_->handled();
  EXPECT_EQ(sched_getscheduler(0) & ~SCHED_RESET_ON_FORK, SCHED_OTHER);
}

// What an administrator gave the daemon (chrt, nice, Nice= of a unit) stays.
TEST(SchedPolicy, ExistingBatchPolicyIsKept) {
  std::thread([] {
    const sched_param none{};
    ASSERT_EQ(sched_setscheduler(0, SCHED_BATCH, &none), 0);
    shorten_time_slices();
    EXPECT_EQ(sched_getscheduler(0), SCHED_BATCH);
    EXPECT_FALSE(set_realtime());
    EXPECT_EQ(sched_getscheduler(0), SCHED_BATCH);
    restore_policy();
    EXPECT_EQ(sched_getscheduler(0), SCHED_BATCH);
  }).join();
}

TEST(SchedPolicy, RealTimePolicyKeepsNiceness) {
  std::thread([] {
    const auto thread = static_cast<id_t>(gettid());
    const int nicer = std::min(getpriority(PRIO_PROCESS, thread) + 1, 19);
    ASSERT_EQ(setpriority(PRIO_PROCESS, thread, nicer), 0);
    shorten_time_slices();
    EXPECT_EQ(getpriority(PRIO_PROCESS, thread), nicer);
    set_realtime();
    restore_policy();
    EXPECT_EQ(getpriority(PRIO_PROCESS, thread), nicer);
  }).join();
}

TEST_F(ExitMonitorTest, ReportsExitingProcessOnce) {
  Word word, other;
  word.value = kHeld;
  std::atomic<int> looks = 0;
  const WatchedUntilHere watched{watch_};
  ASSERT_TRUE(watch_->add({7, &word.value, [&] { return ++looks > 0; }}));
  word.set(kLoose);
  EXPECT_EQ(wait(), std::vector<uint64_t>{7});
  word.set(kHeld);
  word.set(kLoose);
  ASSERT_TRUE(watch_->add({8, &other.value, [] { return true; }}));
  other.set(kLoose);
  EXPECT_EQ(wait(), std::vector<uint64_t>{8});
  EXPECT_EQ(looks, 1);
}

TEST_F(ExitMonitorTest, ReportsExitThatPrecededAdd) {
  Word word;
  word.value = kLoose;
  const WatchedUntilHere watched{watch_};
  ASSERT_TRUE(watch_->add({7, &word.value, [] { return true; }}));
  EXPECT_EQ(wait(), std::vector<uint64_t>{7});
}

TEST_F(ExitMonitorTest, WatchesNextOwnerAfterThreadExits) {
  Word word;
  std::atomic<int> looks = 0;
  std::atomic<bool> ends = false;
  const auto look = [&] {
    ++looks;
    return ends.load();
  };
  const WatchedUntilHere watched{watch_};
  ASSERT_TRUE(watch_->add({7, &word.value, look}));
  word.set(kHeld);
  word.set(kLoose);
  EXPECT_TRUE(looked(looks, 3));
  EXPECT_TRUE(watch_->take().empty());
  word.set(kHeld + 1);
  ends = true;
  word.set(kLoose);
  EXPECT_EQ(wait(), std::vector<uint64_t>{7});
}

TEST_F(ExitMonitorTest, ReportsDelayedExitWithoutAnotherWake) {
  Word word;
  word.value = kHeld;
  std::atomic<int> looks = 0;
  const WatchedUntilHere watched{watch_};
  ASSERT_TRUE(watch_->add({7, &word.value, [&] { return ++looks == 4; }}));
  word.set(kLoose);
  EXPECT_EQ(wait(), std::vector<uint64_t>{7});
  EXPECT_EQ(looks, 4);
}

TEST_F(ExitMonitorTest, DoesNotReadMemoryOfRemovedClient) {
  void* page = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(page, MAP_FAILED);
  auto* mapped = static_cast<uint32_t*>(page);
  *mapped = kHeld;
  Word other;
  const WatchedUntilHere watched{watch_};
  ASSERT_TRUE(watch_->add({7, mapped, [] { return true; }}));
  ASSERT_TRUE(watch_->add({8, &other.value, [] { return true; }}));
  watch_->remove(7);
  munmap(page, 4096);
  other.set(kLoose);
  EXPECT_EQ(wait(), std::vector<uint64_t>{8});
  watch_->remove(8);
  watch_->remove(9);  // never there
}

// fault: F2
TEST_F(ExitMonitorTest, SpreadsMaximumClientsOverSeveralThreads) {
  std::vector<Word> words(kMaxClients);
  const WatchedUntilHere watched{watch_};
  for (std::size_t i = 0; i < words.size(); ++i) {
    words[i].value = kHeld;
    ASSERT_TRUE(watch_->add({i, &words[i].value, [] { return true; }}));
  }
  constexpr std::size_t kWords = ExitMonitor::kWordsAThread;
  EXPECT_EQ(watch_->threads(), (kMaxClients + kWords - 1) / kWords);
  std::set<uint64_t> expected, told;
  for (const std::size_t i :
       {std::size_t{0}, std::size_t{126}, std::size_t{127}, kMaxClients - 1}) {
    words[i].set(kLoose);
    expected.insert(i);
  }
  while (told.size() < expected.size()) {
    const std::vector<uint64_t> next = wait();
    ASSERT_FALSE(next.empty());
    told.insert(next.begin(), next.end());
  }
  EXPECT_EQ(told, expected);
}

TEST_F(ExitMonitorTest, StopsCheckingClientThatWakesConstantly) {
  Word noisy, quiet;
  noisy.value = quiet.value = kHeld;
  std::atomic<int> looks = 0;
  std::atomic<int> rounds = 0;
  const WatchedUntilHere watched{watch_};
  ASSERT_TRUE(watch_->add({7, &noisy.value, [&] {
                             ++looks;
                             return false;
                           }}));
  ASSERT_TRUE(watch_->add({8, &quiet.value, [] { return true; }}));
  std::atomic<bool> stop = false;
  std::thread hostile([&] {
    for (uint32_t i = 0; !stop; ++i) {
      noisy.set(FUTEX_OWNER_DIED | (i & 0xffff));
      ++rounds;
    }
  });
  // Looks come to an end though the wakes do not.
  int before = -1;
  for (int i = 0; i < 1000 && (looks == 0 || looks != before); ++i) {
    before = looks;
    const int until = rounds + 20000;
    while (rounds < until) poll(nullptr, 0, 1);
  }
  EXPECT_EQ(looks, before);
  quiet.set(kLoose);
  EXPECT_EQ(wait(), std::vector<uint64_t>{8});
  stop = true;
  hostile.join();
}

// ---- real clients ----------------------------------------------------------------------------

// What the client says to the test, and the other way: one byte a time.
struct Talk {
  std::array<int, 2> to_test{};
  std::array<int, 2> to_client{};

  Talk() {
    EXPECT_EQ(pipe(to_test.data()), 0);
    EXPECT_EQ(pipe(to_client.data()), 0);
  }
  ~Talk() {
    for (const int fd : {to_test[0], to_test[1], to_client[0], to_client[1]}) close(fd);
  }
  static bool say(int fd) { return ::write(fd, "x", 1) == 1; }
  static bool hear(int fd) {
    char byte = 0;
    return ::read(fd, &byte, 1) == 1;
  }
};

class ClientExitTest : public ::testing::Test {
 protected:
  ClientExitTest() : running_(test_config(directory_)) {}
  void SetUp() override {
    if (!ExitMonitor::make().ok()) GTEST_SKIP() << ExitMonitor::make().message();
  }

  // A client process: attaches, then runs `body` with its regions. It never returns.
  template <typename Body>
  pid_t client(const Body& body) {
    const std::string path = attach_path(running_.config());
    const pid_t child = fork();
    if (child != 0) return child;
    FakeConnection connection(path);
    const optile_attach_request attach_request = make_attach_request("victim");
    if (!connection.send(&attach_request, sizeof attach_request)) _exit(1);
    pollfd answer = {connection.fd(), POLLIN, 0};
    poll(&answer, 1, kDeadlineMs);
    if (connection.receive() != FakeConnection::Answer::kAttachReply) _exit(1);
    ClientRegions regions(connection.plan_fd(), connection.client_fd());
    madvise(&regions.client(), sizeof regions.client(), MADV_DONTFORK);  // as the shim does
    body(regions.client());
    for (;;) pause();
  }
  // Serves until the client has said something.
  bool serve_until_heard(const Talk& talk) {
    return running_.serve_until([&] {
      pollfd ready = {talk.to_test[0], POLLIN, 0};
      return poll(&ready, 1, 0) == 1;
    }) && Talk::hear(talk.to_test[0]);
  }
  bool serve_until_left() {
    return running_.serve_until([&] { return clients() == 0; });
  }
  std::size_t clients() { return running_.daemon().controller().client_count(); }
  // The daemon's words about clients, in their order: "dying" and "left".
  std::vector<std::string> said() const {
    std::vector<std::string> words;
    std::istringstream log(base::read_text_file(running_.config().log).value_or(""));
    for (std::string line; std::getline(log, line);) {
      if (line.find("client 1 is dying") != std::string::npos) words.emplace_back("dying");
      if (line.find("client 1 left") != std::string::npos) words.emplace_back("left");
    }
    return words;
  }
  static void end(pid_t child) {
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
  }

  TemporaryDirectory directory_;
  RunningDaemon running_;
  Talk talk_;
};

using Words = std::vector<std::string>;

// F2: half a gigabyte in small pages takes its time to go, and only then does the socket hang up.
// fault: F2
TEST_F(ClientExitTest, KilledClientIsDyingBeforeHangUp) {
  const pid_t child = client([this](optile_client_region& region) {
    preload::hold_life(&region);
    constexpr std::size_t kBytes = std::size_t{512} << 20;
    void* memory =
        mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED || madvise(memory, kBytes, MADV_NOHUGEPAGE) != 0) _exit(1);
    // Filled by the kernel: a sanitizer's shadow of it stays untouched.
    madvise(memory, kBytes, MADV_POPULATE_WRITE);
    Talk::say(talk_.to_test[1]);
  });
  ASSERT_TRUE(serve_until_heard(talk_));
  ASSERT_EQ(clients(), 1u);
  kill(child, SIGKILL);
  bool dying = false;
  EXPECT_TRUE(running_.serve_until([&] {
    const auto view = running_.daemon().controller().view(1);
    dying = dying || (view && !view->finished && view->dying);
    return clients() == 0;
  }));
  EXPECT_TRUE(dying);
  EXPECT_EQ(said(), (Words{"dying", "left"}));
  waitpid(child, nullptr, 0);
}

// fault: F2
TEST_F(ClientExitTest, DetectsKillOfClientAttachedByWorkerThread) {
  const pid_t child = client([this](optile_client_region& region) {
    std::array<std::thread, 8> pool;
    for (std::thread& one : pool) {
      one = std::thread([] {
        for (;;) pause();
      });
    }
    std::thread([&] {
      preload::hold_life(&region);
      Talk::say(talk_.to_test[1]);
      for (;;) pause();
    }).join();
  });
  ASSERT_TRUE(serve_until_heard(talk_));
  kill(child, SIGKILL);
  // Small: the hang-up may come first, and then there is nothing to tell any more.
  EXPECT_TRUE(serve_until_left());
  EXPECT_EQ(said().back(), "left");
  waitpid(child, nullptr, 0);
}

// fault: F2
TEST_F(ClientExitTest, AnotherThreadTakesOverAfterAttachingThreadExits) {
  const pid_t child = client([this](optile_client_region& region) {
    std::thread([&] { preload::hold_life(&region); }).join();
    if (!preload::life_is_loose(&region)) _exit(1);
    Talk::say(talk_.to_test[1]);
    if (!Talk::hear(talk_.to_client[0])) _exit(1);
    preload::take_over_life(&region);
    if (preload::life_is_loose(&region)) _exit(1);
    if ((*optile_liveness_futex(&region.header) & FUTEX_TID_MASK) !=
        static_cast<uint32_t>(gettid())) {
      _exit(1);
    }
    void* memory = mmap(nullptr, std::size_t{256} << 20, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    madvise(memory, std::size_t{256} << 20, MADV_NOHUGEPAGE);
    madvise(memory, std::size_t{256} << 20, MADV_POPULATE_WRITE);
    Talk::say(talk_.to_test[1]);
  });
  ASSERT_TRUE(serve_until_heard(talk_));
  EXPECT_EQ(said(), Words{});
  ASSERT_TRUE(Talk::say(talk_.to_client[1]));
  ASSERT_TRUE(serve_until_heard(talk_));
  EXPECT_EQ(said(), Words{});
  EXPECT_EQ(clients(), 1u);
  kill(child, SIGKILL);
  EXPECT_TRUE(serve_until_left());  // before anybody waits for its memory to be gone
  EXPECT_EQ(said(), (Words{"dying", "left"}));
  waitpid(child, nullptr, 0);
}

// Its process goes on without it.
// fault: F2
TEST_F(ClientExitTest, ClientSurvivesMainThreadExit) {
  const pid_t child = client([this](optile_client_region& region) {
    preload::hold_life(&region);
    std::thread([this, &region] {
      while (!preload::life_is_loose(&region)) sched_yield();
      Talk::say(talk_.to_test[1]);
      Talk::hear(talk_.to_client[0]);
      _exit(0);
    }).detach();
    syscall(SYS_exit, 0);  // pthread_exit would unwind the regions away
  });
  ASSERT_TRUE(serve_until_heard(talk_));
  // The helper has looked at it by now, or does while the daemon serves.
  EXPECT_EQ(running_.get("/v1/status").status, 200);
  EXPECT_EQ(said(), Words{});
  EXPECT_FALSE(ProcessEntry::open(child).value().ends());
  ASSERT_TRUE(Talk::say(talk_.to_client[1]));
  EXPECT_TRUE(serve_until_left());
  waitpid(child, nullptr, 0);
}

TEST_F(ClientExitTest, ForkedChildDoesNotAffectParent) {
  const pid_t child = client([this](optile_client_region& region) {
    preload::hold_life(&region);
    const pid_t own_child = fork();
    if (own_child == 0) _exit(0);
    waitpid(own_child, nullptr, 0);
    if (preload::life_is_loose(&region)) _exit(1);
    if ((*optile_liveness_futex(&region.header) & FUTEX_TID_MASK) !=
        static_cast<uint32_t>(gettid())) {
      _exit(1);
    }
    Talk::say(talk_.to_test[1]);
  });
  EXPECT_TRUE(serve_until_heard(talk_));
  EXPECT_EQ(clients(), 1u);
  EXPECT_EQ(said(), Words{});
  end(child);
  EXPECT_TRUE(serve_until_left());
}

TEST_F(ClientExitTest, ExecDetachesClient) {
  const pid_t child = client([this](optile_client_region& region) {
    preload::hold_life(&region);
    Talk::say(talk_.to_test[1]);
    if (!Talk::hear(talk_.to_client[0])) _exit(1);
    dup2(talk_.to_client[0], 0);
    execlp("cat", "cat", nullptr);  // until the pipe is closed
    _exit(1);
  });
  ASSERT_TRUE(serve_until_heard(talk_));
  ASSERT_TRUE(Talk::say(talk_.to_client[1]));
  EXPECT_TRUE(serve_until_left());  // its connection was closed on exec
  EXPECT_EQ(said(), Words{"left"});
  EXPECT_EQ(kill(child, 0), 0);
  end(child);
}

// F17.
// fault: F17
TEST_F(ClientExitTest, StoppedClientIsReportedStopped) {
  const pid_t child = client([this](optile_client_region& region) {
    preload::hold_life(&region);
    Talk::say(talk_.to_test[1]);
  });
  ASSERT_TRUE(serve_until_heard(talk_));
  Controller& controller = running_.daemon().controller();
  controller.lease_manager().refresh_budgets();
  EXPECT_FALSE(controller.view(1)->stopped);
  kill(child, SIGSTOP);
  siginfo_t info{};
  ASSERT_EQ(waitid(P_PID, static_cast<id_t>(child), &info, WSTOPPED), 0);
  controller.lease_manager().refresh_budgets();
  EXPECT_TRUE(controller.view(1)->stopped);
  EXPECT_FALSE(controller.view(1)->dying);
  kill(child, SIGCONT);
  ASSERT_EQ(waitid(P_PID, static_cast<id_t>(child), &info, WCONTINUED), 0);
  controller.lease_manager().refresh_budgets();
  EXPECT_FALSE(controller.view(1)->stopped);
  end(child);
  EXPECT_TRUE(serve_until_left());
}

// As `docker pause` does it: its threads look asleep.
// fault: F17
TEST_F(ClientExitTest, FrozenClientIsReportedStopped) {
  const FrozenGroup group;
  const pid_t child = client([this](optile_client_region& region) {
    preload::hold_life(&region);
    Talk::say(talk_.to_test[1]);
  });
  ASSERT_TRUE(serve_until_heard(talk_));
  if (!group.take(child)) {
    end(child);
    GTEST_SKIP() << "no control group can be made here";
  }
  Controller& controller = running_.daemon().controller();
  controller.lease_manager().refresh_budgets();
  EXPECT_FALSE(controller.view(1)->stopped);
  group.freeze();
  controller.lease_manager().refresh_budgets();
  EXPECT_TRUE(controller.view(1)->stopped);
  EXPECT_FALSE(controller.view(1)->dying);
  group.thaw();
  controller.lease_manager().refresh_budgets();
  EXPECT_FALSE(controller.view(1)->stopped);
  end(child);
  EXPECT_TRUE(serve_until_left());
}

// F4: killed and started again while the dead one is still going.
// fault: F4
TEST_F(ClientExitTest, HandlesRepeatedKillAndRestart) {
  for (int round = 0; round < 50; ++round) {
    const pid_t child = client([this](optile_client_region& region) {
      preload::hold_life(&region);
      Talk::say(talk_.to_test[1]);
    });
    ASSERT_TRUE(serve_until_heard(talk_)) << round;
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
  }
  EXPECT_TRUE(serve_until_left());
  EXPECT_EQ(running_.daemon().controller().attached_ever(), 50u);
}

}  // namespace
}  // namespace optile::daemon
