#include "daemon/process/thread_masks.h"

#include <gtest/gtest.h>
#include <pthread.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>

#include "tests/daemon/fixtures/temporary_directory.h"
#include "tests/sanitized.h"

namespace optile::daemon {
namespace {

namespace fs = std::filesystem;

constexpr int kPid = 500;

// A process whose threads and masks are a folder and a map.
class ThreadMasksTest : public ::testing::Test {
 protected:
  ThreadMasksTest() {
    write_stat(kPid);
    add_thread(kPid, {0, 1, 2, 3});
  }

  void write_stat(int pid) {
    fs::create_directories(proc() / std::to_string(pid));
    std::ofstream(proc() / std::to_string(pid) / "stat")
        << pid << " (a) b) S 1 1 1 0 -1 4194304 0 0 0 0 5 7 0 0 20 0 1 0 99 0 0 0 0 0 0 0 0 0 0\n";
  }
  void add_thread(int tid, const std::vector<int>& units) {
    masks_[tid] = unit_set(units);
    fs::create_directories(proc() / std::to_string(kPid) / "task" / std::to_string(tid));
  }
  void end_thread(int tid) {
    masks_.erase(tid);
    fs::remove_all(proc() / std::to_string(kPid) / "task" / std::to_string(tid));
  }
  fs::path proc() const { return fs::path(directory_ / "proc"); }
  std::vector<int> mask(int tid) const { return os_indices(masks_.at(tid)); }

  ThreadMasks masks() {
    ThreadMasks::Kernel kernel;
    kernel.get = [this](int tid, UnitSet& units) {
      ++gets_;
      const auto found = masks_.find(tid);
      if (found == masks_.end()) return ESRCH;
      units = found->second;
      return 0;
    };
    kernel.set = [this](int tid, const UnitSet& units) {
      const auto found = masks_.find(tid);
      if (found == masks_.end()) return ESRCH;
      if (denied_.contains(tid)) return EPERM;
      if ((units & cpuset_).none()) return EINVAL;
      if (before_set_) before_set_(tid);
      found->second = units & cpuset_;
      ++sets_;
      if (on_set_) on_set_(tid);
      return 0;
    };
    ThreadMasks masks(ProcessEntry::open(kPid, proc().string()).value(), std::move(kernel));
    masks.read_bindings([this](int tid) {
      if (on_read_binding_) on_read_binding_(tid);
      return bindings_[tid];
    });
    return masks;
  }
  // The program binds a thread; in two parts, as its shim tells it.
  void tell_binding(int tid, const std::vector<int>& units) {
    bindings_[tid] = {bindings_[tid].count + 2, false, true, unit_set(units)};
  }
  void set_binding(int tid) {
    masks_[tid] = bindings_[tid].mask;
    bindings_[tid].is_running = false;
  }
  void bind(int tid, const std::vector<int>& units) {
    tell_binding(tid, units);
    set_binding(tid);
  }
  static MaskOutcome confined(ThreadMasks& masks, const std::vector<int>& units) {
    const base::Result<MaskOutcome> outcome = masks.confine(unit_set(units));
    EXPECT_TRUE(outcome.ok());
    return outcome.ok() ? outcome.value() : MaskOutcome{};
  }

  TemporaryDirectory directory_;
  std::map<int, UnitSet> masks_;
  std::set<int> denied_;
  UnitSet cpuset_ = UnitSet().set();
  int sets_ = 0;
  std::size_t gets_ = 0;
  std::function<void(int tid)> before_set_, on_set_, on_read_binding_;
  std::map<int, ThreadBinding> bindings_;
};

using Units = std::vector<int>;

TEST_F(ThreadMasksTest, ConfinesMovesAndReleasesEveryThread) {
  add_thread(501, {0, 1, 2, 3});
  add_thread(502, {0, 1, 2, 3});
  ThreadMasks masks = this->masks();
  const MaskOutcome first = confined(masks, {0, 1});
  EXPECT_TRUE(first.holds());
  EXPECT_EQ(first.threads, 3u);
  EXPECT_EQ(first.moved, 3u);
  add_thread(503, {0, 1});  // made meanwhile, inherits
  EXPECT_TRUE(confined(masks, {2, 3}).holds());
  for (const int tid : {kPid, 501, 502, 503}) EXPECT_EQ(mask(tid), (Units{2, 3})) << tid;
  const MaskOutcome released = masks.give_back();
  EXPECT_TRUE(released.settled);
  for (const int tid : {kPid, 501, 502, 503}) EXPECT_EQ(mask(tid), (Units{0, 1, 2, 3})) << tid;
}

TEST_F(ThreadMasksTest, SkipsThreadsAlreadyConfined) {
  ThreadMasks masks = this->masks();
  confined(masks, {1});
  const int before = sets_;
  EXPECT_TRUE(confined(masks, {1}).holds());
  EXPECT_EQ(sets_, before);
}

TEST_F(ThreadMasksTest, RepeatsPassesUntilNoNewThreads) {
  // Every thread that is moved has just made another one, which has the old mask: five times.
  on_set_ = [this](int) {
    const int tid = 501 + static_cast<int>(masks_.size()) - 1;
    if (tid <= 505) add_thread(tid, {0, 1, 2, 3});
  };
  ThreadMasks masks = this->masks();
  const MaskOutcome outcome = confined(masks, {0});
  EXPECT_TRUE(outcome.holds());
  EXPECT_EQ(outcome.threads, 6u);
  for (const auto& [tid, units] : masks_) EXPECT_EQ(os_indices(units), Units{0}) << tid;
}

TEST_F(ThreadMasksTest, GivesUpOnEndlessThreadCreation) {
  on_set_ = [this](int) { add_thread(501 + static_cast<int>(masks_.size()), {0, 1, 2, 3}); };
  ThreadMasks masks = this->masks();
  EXPECT_FALSE(confined(masks, {0}).settled);
  on_set_ = {};
  EXPECT_TRUE(confined(masks, {0}).holds());
}

// Each pass over so many takes the daemon's only thread for a while.
TEST_F(ThreadMasksTest, MakesOnlyOnePassAtThreadLimit) {
  constexpr std::size_t kAll = ThreadMasks::kMaxThreads;
  for (int tid = 501; masks_.size() < kAll; ++tid) add_thread(tid, {0, 1, 2, 3});
  ThreadMasks masks = this->masks();
  EXPECT_EQ(confined(masks, {0, 1}).moved, kAll);
  gets_ = 0;
  const MaskOutcome again = confined(masks, {0, 1});
  EXPECT_EQ(gets_, 2 * kAll) << "what others placed, and one pass";
  EXPECT_EQ(again.moved, 0u);
  EXPECT_FALSE(again.settled) << "there may be more of them";
}

TEST_F(ThreadMasksTest, LeavesUserBoundThreadAlone) {
  add_thread(501, {3});
  ThreadMasks masks = this->masks();
  const MaskOutcome away = confined(masks, {0, 1});
  EXPECT_EQ(away.left_alone, 1u);
  EXPECT_FALSE(away.holds());
  const MaskOutcome around = confined(masks, {2, 3});
  EXPECT_EQ(around.inside, 1u);
  EXPECT_TRUE(around.holds());
  // The same units as that thread's: still its user's.
  EXPECT_TRUE(confined(masks, {3}).holds());
  EXPECT_EQ(confined(masks, {0}).left_alone, 1u);
  masks.give_back();
  EXPECT_EQ(mask(501), Units{3});
  EXPECT_EQ(mask(kPid), (Units{0, 1, 2, 3}));
}

// Between the look at its mask and the call that sets another one.
TEST_F(ThreadMasksTest, RestoresBindingOverwrittenBySet) {
  add_thread(501, {0, 1, 2, 3});
  before_set_ = [this](int tid) {
    if (tid == 501 && bindings_[tid].count == 0) bind(tid, {3});
  };
  ThreadMasks masks = this->masks();
  EXPECT_EQ(confined(masks, {0, 1}).left_alone, 1u);
  EXPECT_EQ(mask(501), Units{3});
  EXPECT_EQ(mask(kPid), (Units{0, 1}));
}

TEST_F(ThreadMasksTest, SkipsThreadBoundAfterMaskWasRead) {
  add_thread(501, {0, 1, 2, 3});
  // At the second read: the first one is at the look.
  on_read_binding_ = [this](int tid) {
    if (tid == 501 && gets_ >= 4 && bindings_[tid].count == 0) bind(tid, {3});
  };
  ThreadMasks masks = this->masks();
  before_set_ = [](int tid) { EXPECT_NE(tid, 501); };
  EXPECT_EQ(confined(masks, {0, 1}).left_alone, 1u);
  EXPECT_EQ(mask(501), Units{3});
}

TEST_F(ThreadMasksTest, DoesNotMoveThreadDuringBinding) {
  add_thread(501, {0, 1, 2, 3});
  tell_binding(501, {3});
  ThreadMasks masks = this->masks();
  before_set_ = [](int tid) { EXPECT_NE(tid, 501); };
  EXPECT_FALSE(confined(masks, {0, 1}).settled);
  set_binding(501);
  EXPECT_EQ(confined(masks, {0, 1}).left_alone, 1u);
  EXPECT_EQ(mask(501), Units{3});
}

TEST_F(ThreadMasksTest, BindingToLeasedPUsIsKept) {
  add_thread(501, {0, 1, 2, 3});
  ThreadMasks masks = this->masks();
  confined(masks, {0, 1});
  bind(501, {0, 1});
  EXPECT_EQ(confined(masks, {2, 3}).left_alone, 1u);
  EXPECT_EQ(mask(501), (Units{0, 1}));
  masks.give_back();
  EXPECT_EQ(mask(501), (Units{0, 1}));
}

TEST_F(ThreadMasksTest, StaleBindingDoesNotHoldThread) {
  add_thread(501, {0, 1, 2, 3});
  bind(501, {3});
  masks_[501] = unit_set({0, 1, 2, 3});  // another thread has its number by now
  ThreadMasks masks = this->masks();
  EXPECT_TRUE(confined(masks, {0, 1}).holds());
  EXPECT_EQ(mask(501), (Units{0, 1}));
}

TEST_F(ThreadMasksTest, BindingToWholeOriginalMaskIsIgnored) {
  add_thread(501, {0, 1, 2, 3});
  before_set_ = [this](int tid) {
    if (tid == 501 && bindings_[tid].count == 0) bind(tid, {0, 1, 2, 3});
  };
  ThreadMasks masks = this->masks();
  EXPECT_TRUE(confined(masks, {0, 1}).holds());
  EXPECT_EQ(mask(501), (Units{0, 1}));
}

TEST_F(ThreadMasksTest, ObeysLaterUserMaskOfWholeProcess) {
  add_thread(501, {0, 1, 2, 3});
  ThreadMasks masks = this->masks();
  confined(masks, {0, 1});
  for (auto& [tid, units] : masks_) units = unit_set({1, 2});  // taskset -a -p
  EXPECT_EQ(confined(masks, {0}).left_alone, 2u);
  masks.give_back();
  for (const int tid : {kPid, 501}) EXPECT_EQ(mask(tid), (Units{1, 2})) << tid;
}

TEST_F(ThreadMasksTest, MaskOfBoundMainThreadIsNotOriginal) {
  masks_[kPid] = unit_set({0});  // OMP_PROC_BIND=close, after the first region
  add_thread(501, {1});
  add_thread(502, {2});
  ThreadMasks masks = this->masks();
  EXPECT_EQ(confined(masks, {0, 1}).left_alone, 1u);
  EXPECT_FALSE(masks.original().has_value());
  EXPECT_EQ(mask(kPid), Units{0});
  EXPECT_EQ(sets_, 0);
}

TEST_F(ThreadMasksTest, RejectsPUsOutsideOriginalMask) {
  masks_[kPid] = unit_set({0, 1});
  ThreadMasks masks = this->masks();
  EXPECT_EQ(masks.confine(unit_set({1, 2})).error().kind, base::ErrorKind::kInvalid);
  EXPECT_EQ(masks.confine({}).error().kind, base::ErrorKind::kInvalid);
  EXPECT_EQ(sets_, 0);
}

// F20.
// fault: F20
TEST_F(ThreadMasksTest, ReportsAndRestoresClippedMask) {
  ThreadMasks masks = this->masks();
  cpuset_ = unit_set({0, 2});
  const MaskOutcome clipped = confined(masks, {0, 1});
  EXPECT_EQ(clipped.clipped, 1u);
  EXPECT_FALSE(clipped.holds());
  EXPECT_EQ(confined(masks, {1}).refused, 1u);
  cpuset_.set();
  masks.give_back();
  EXPECT_EQ(mask(kPid), (Units{0, 1, 2, 3}));
}

// Kernels since 6.2 clip each mask, and older ones give each thread the whole cpuset.
TEST_F(ThreadMasksTest, RecognisesOwnMasksChangedByCpuset) {
  for (const bool clips : {true, false}) {
    add_thread(kPid, {0, 1, 2, 3});
    add_thread(501, {0, 1, 2, 3});
    add_thread(502, {3});  // by its user
    cpuset_ = unit_set({0, 1, 2, 3});
    ThreadMasks masks = this->masks();
    EXPECT_EQ(confined(masks, {2, 3}).inside, 1u);
    cpuset_ = unit_set({0, 1, 2});
    for (const int tid : {kPid, 501}) {
      masks_[tid] = unit_set(clips ? std::vector<int>{2} : std::vector<int>{0, 1, 2});
    }
    masks.note_cpuset(cpuset_);
    const MaskOutcome after = confined(masks, {0, 1, 2});
    EXPECT_EQ(after.left_alone, 1u) << "its user's";
    EXPECT_EQ(mask(501), (std::vector<int>{0, 1, 2}));
    cpuset_ = unit_set({0, 1, 2, 3});
    masks.note_cpuset(cpuset_);
    EXPECT_TRUE(masks.give_back().settled);
    EXPECT_EQ(mask(kPid), (std::vector<int>{0, 1, 2, 3}));
    EXPECT_EQ(mask(502), std::vector<int>{3});
  }
}

// What it came with is known, and its cpuset shrank before it was first confined.
TEST_F(ThreadMasksTest, RecognisesOriginalMaskClippedByCpuset) {
  ThreadMasks masks = this->masks();
  masks.resume(unit_set({0, 1, 2, 3}), {});
  cpuset_ = unit_set({0, 1, 2});
  masks_[kPid] = cpuset_;
  masks.note_cpuset(cpuset_);
  EXPECT_TRUE(confined(masks, {0, 1}).holds());
  EXPECT_EQ(mask(kPid), (std::vector<int>{0, 1}));
}

TEST_F(ThreadMasksTest, CountsThreadsRefusedByKernel) {
  add_thread(501, {0, 1, 2, 3});
  denied_.insert(501);
  ThreadMasks masks = this->masks();
  const MaskOutcome outcome = confined(masks, {0});
  EXPECT_EQ(outcome.refused, 1u);
  EXPECT_EQ(outcome.moved, 1u);
  EXPECT_FALSE(outcome.holds());
}

// F5.
// fault: F5
TEST_F(ThreadMasksTest, LeavesProcessWithReusedPidAlone) {
  ThreadMasks masks = this->masks();
  confined(masks, {0, 1});
  fs::remove_all(proc() / std::to_string(kPid));
  write_stat(kPid);
  add_thread(kPid, {0, 1});
  const MaskOutcome outcome = confined(masks, {2});
  EXPECT_TRUE(outcome.gone);
  EXPECT_TRUE(masks.give_back().gone);
  EXPECT_EQ(mask(kPid), (Units{0, 1}));
}

TEST_F(ThreadMasksTest, SkipsThreadsThatEndDuringPass) {
  add_thread(501, {0, 1, 2, 3});
  add_thread(502, {0, 1, 2, 3});
  masks_.erase(502);  // listed, but gone
  on_set_ = [this](int tid) {
    if (tid == kPid) end_thread(501);
  };
  ThreadMasks masks = this->masks();
  EXPECT_TRUE(confined(masks, {0}).holds());
}

TEST_F(ThreadMasksTest, ResumesMasksOfPreviousDaemon) {
  masks_[kPid] = unit_set({0});  // confined by a daemon that was killed
  ThreadMasks masks = this->masks();
  masks.resume(unit_set({0, 1, 2, 3}), unit_set({0}));
  EXPECT_TRUE(confined(masks, {1, 2}).holds());
  EXPECT_EQ(mask(kPid), (Units{1, 2}));
  masks.give_back();
  EXPECT_EQ(mask(kPid), (Units{0, 1, 2, 3}));
}

TEST(ProcessStat, ParsesAnyNameAndRejectsMalformedLines) {
  const std::string rest = " T 1 1 1 0 -1 4 0 0 0 0 5 7 0 0 20 0 1 0 99 0 0 0 0 0 0 0 0 256 0 0";
  for (const char* name : {"a", "a) b (c", ") R 9 9", ""}) {
    const auto stat = parse_process_stat("12 (" + std::string(name) + ")" + rest);
    ASSERT_TRUE(stat.has_value()) << name;
    EXPECT_EQ(stat->name, name);
    EXPECT_TRUE(stat->stopped());
    EXPECT_EQ(stat->flags, ProcessStat::kExiting);
    EXPECT_EQ(stat->busy_ticks, 12u);
    EXPECT_EQ(stat->start_ticks, 99u);
    EXPECT_EQ(stat->pending, 256u);
  }
  for (const char* line :
       {"", "12", "12 (", "12 (a", "12 (a)", ") (", "1 (a) S x", "1 (a) S 1 2"}) {
    EXPECT_FALSE(parse_process_stat(line).has_value()) << line;
  }
}

// fault: F5
TEST(ProcessEntry, DistinguishesStoppedAndEndedProcess) {
  const pid_t child = fork();
  if (child == 0) {
    pause();
    _exit(0);
  }
  const base::Result<ProcessEntry> entry = ProcessEntry::open(child);
  ASSERT_TRUE(entry.ok());
  std::vector<int> threads = entry.value().threads(8);
  // ThreadSanitizer has a thread of its own in a forked child, sooner or later.
  if (test::kSanitized && threads.size() == 2) threads.pop_back();
  EXPECT_EQ(threads, std::vector<int>{child});
  EXPECT_FALSE(entry.value().stat()->ends());
  kill(child, SIGSTOP);
  siginfo_t info{};
  ASSERT_EQ(waitid(P_PID, static_cast<id_t>(child), &info, WSTOPPED), 0);
  EXPECT_TRUE(entry.value().stat()->stopped());
  kill(child, SIGKILL);
  ASSERT_EQ(waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOWAIT), 0);
  EXPECT_TRUE(entry.value().stat()->ends());  // not collected yet
  ASSERT_EQ(waitpid(child, nullptr, 0), child);
  EXPECT_FALSE(entry.value().stat().has_value());
  EXPECT_EQ(ProcessEntry::open(child).error().kind, base::ErrorKind::kNotFound);
}

// ---- a real process --------------------------------------------------------------------------

std::vector<int> allowed_units() {
  UnitSet units;
  EXPECT_EQ(ThreadMasks::system_kernel().get(0, units), 0);
  return os_indices(units);
}

// Four threads that wait, and one that has pinned itself; then it tells that all are there.
[[noreturn]] void run_threads(int told, std::size_t pinned_unit) {
  std::array<pthread_t, 5> threads{};
  static pthread_barrier_t ready;
  static std::size_t unit;
  unit = pinned_unit;
  pthread_barrier_init(&ready, nullptr, threads.size() + 1);
  for (std::size_t i = 0; i < threads.size(); ++i) {
    const auto body = [](void* pins) -> void* {
      cpu_set_t one;
      CPU_ZERO(&one);
      CPU_SET(unit, &one);
      if (pins != nullptr) pthread_setaffinity_np(pthread_self(), sizeof one, &one);
      pthread_barrier_wait(&ready);
      for (;;) pause();
    };
    pthread_create(&threads[i], nullptr, body, i == 0 ? &ready : nullptr);
  }
  pthread_barrier_wait(&ready);
  if (write(told, "x", 1) != 1) _exit(1);
  for (;;) pause();
}

TEST(ThreadMasksOnRealProcess, ConfinesPoolAroundPinnedThread) {
  const std::vector<int> allowed = allowed_units();
  if (allowed.size() < 2) GTEST_SKIP() << "needs two processing units";
  const int first = allowed.front();
  const int last = allowed.back();
  std::array<int, 2> told{};
  ASSERT_EQ(pipe(told.data()), 0);
  const pid_t child = fork();
  if (child == 0) run_threads(told[1], static_cast<std::size_t>(last));
  char byte = 0;
  ASSERT_EQ(read(told[0], &byte, 1), 1);
  const ProcessEntry entry = ProcessEntry::open(child).value();
  ThreadMasks masks(ProcessEntry::open(child).value());
  const auto count_at = [&](const std::vector<int>& units) {
    std::ptrdiff_t count = 0;
    for (const int tid : entry.threads(64)) {
      UnitSet mask;
      if (ThreadMasks::system_kernel().get(tid, mask) == 0) count += mask == unit_set(units);
    }
    return count;
  };
  const MaskOutcome away = masks.confine(unit_set({first})).value();
  EXPECT_TRUE(away.settled);
  EXPECT_EQ(away.left_alone, 1u);
  EXPECT_FALSE(away.holds());
  const std::ptrdiff_t threads = static_cast<std::ptrdiff_t>(entry.threads(64).size());
  EXPECT_GE(threads, 6);  // a sanitizer has one of its own
  EXPECT_EQ(count_at({first}), threads - 1);
  EXPECT_TRUE(masks.confine(unit_set({last})).value().holds());
  EXPECT_EQ(count_at({last}), threads);
  EXPECT_TRUE(masks.give_back().settled);
  EXPECT_EQ(count_at(allowed), threads - 1);
  EXPECT_EQ(count_at({last}), 1);
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  EXPECT_TRUE(masks.confine(unit_set({first})).value().gone);
  close(told[0]);
  close(told[1]);
}

}  // namespace
}  // namespace optile::daemon
