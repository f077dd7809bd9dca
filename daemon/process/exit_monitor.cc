#include "daemon/process/exit_monitor.h"

#include <linux/futex.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <climits>
#include <csignal>
#include <ctime>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>

#include "daemon/process/sched_policy.h"

// Newer than the C library's list on some systems; one number everywhere.
#ifndef SYS_futex_waitv
#define SYS_futex_waitv 449
#endif

namespace optile::daemon {
namespace {

using std::chrono::nanoseconds;
using std::chrono::steady_clock;

// After a wake-up the other threads of a killed process may not have heard of it yet, and a thread
// that ended alone may be followed by another. Looks are this far apart, doubling.
constexpr nanoseconds kFirstLook = std::chrono::microseconds(50);
constexpr int kLooks = 10;        // 50 ms together
constexpr int kMaxFailures = 64;  // of the call, in a row

uint32_t load(const uint32_t* word) {
  return __atomic_load_n(word, __ATOMIC_ACQUIRE);
}

long wait_for_any(const struct futex_waitv* words, std::size_t count, const timespec* until) {
  return syscall(SYS_futex_waitv, words, static_cast<unsigned>(count), 0, until, CLOCK_MONOTONIC);
}

timespec timespec_of(steady_clock::time_point when) {
  const auto since = std::chrono::duration_cast<nanoseconds>(when.time_since_epoch()).count();
  return {static_cast<time_t>(since / 1000000000), static_cast<long>(since % 1000000000)};
}

}  // namespace

// One thread and the words that it waits for.
class ExitMonitor::Helper {
 public:
  explicit Helper(ExitMonitor& owner) : owner_(owner) {}
  ~Helper() {
    if (!thread_.joinable()) return;
    {
      const std::lock_guard lock(mutex_);
      stopped_ = true;
      interrupt();
    }
    thread_.join();
  }
  Helper(const Helper&) = delete;
  Helper& operator=(const Helper&) = delete;

  // The program's signals are for its main thread.
  bool start() {
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    try {
      thread_ = std::thread([this] { run(); });
    } catch (const std::system_error&) {
      // No thread to be had.
    }
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    return thread_.joinable();
  }

  bool add(Subject& subject) {
    const std::lock_guard lock(mutex_);
    if (watched_.size() >= kWordsAThread) return false;
    Watched one;
    one.subject = std::move(subject);
    watched_.push_back(std::move(one));
    interrupt();
    return true;
  }

  bool remove(uint64_t client) {
    const std::lock_guard lock(mutex_);
    const auto found = std::find_if(watched_.begin(), watched_.end(), [&](const Watched& one) {
      return one.subject.client == client;
    });
    if (found == watched_.end()) return false;
    watched_.erase(found);
    interrupt();
    return true;
  }

 private:
  struct Watched {
    Subject subject;
    uint32_t value = 0;  // as last seen
    bool seen = false;
    bool done = false;  // told, or left to the backstop
    int wakes = 0;
    int looks_left = 0;
    nanoseconds pause{0};
    steady_clock::time_point next_look;
  };

  // With the lock held.
  void interrupt() {
    __atomic_add_fetch(&control_, 1, __ATOMIC_RELEASE);
    syscall(SYS_futex, &control_, FUTEX_WAKE_PRIVATE, INT_MAX, nullptr, nullptr, 0);
  }

  // With the lock held: takes note of a word's change. True when the process is to be looked at.
  static bool consider(Watched& one, uint32_t value, steady_clock::time_point now) {
    if (!one.seen || value != one.value) {
      one.seen = true;
      one.value = value;
      one.looks_left = (value & FUTEX_OWNER_DIED) != 0 ? kLooks : 0;
      one.pause = kFirstLook;
      one.next_look = now;
      one.done = ++one.wakes > kMaxWakes;
    }
    return !one.done && one.looks_left > 0 && now >= one.next_look;
  }

  struct Wait {
    std::array<struct futex_waitv, kWordsAThread + 1> words{};
    std::array<uint64_t, kWordsAThread + 1> clients{};
    std::size_t count = 0;
    std::optional<steady_clock::time_point> until;
  };

  // With the lock held: what to wait for, and whom to look at before. The control word comes first,
  // so that no change goes unheard.
  void prepare(Wait& wait, std::vector<Subject>& due) {
    const auto put = [&](const uint32_t* word, uint32_t value, uint32_t flags, uint64_t client) {
      struct futex_waitv& next = wait.words[wait.count];
      next = {};
      next.val = value;
      next.uaddr = reinterpret_cast<uintptr_t>(word);
      next.flags = FUTEX_32 | flags;
      wait.clients[wait.count++] = client;
    };
    wait.count = 0;
    wait.until.reset();
    due.clear();
    put(&control_, load(&control_), FUTEX_PRIVATE_FLAG, 0);
    const steady_clock::time_point now = steady_clock::now();
    for (Watched& one : watched_) {
      if (one.done) continue;
      if (consider(one, load(one.subject.word), now)) due.push_back(one.subject);
      if (one.done) continue;
      put(one.subject.word, one.value, 0, one.subject.client);
      if (one.looks_left > 0 && (!wait.until || one.next_look < *wait.until)) {
        wait.until = one.next_look;
      }
    }
  }

  // Without the lock: reading another process can take its time, just when that one ends.
  void look_at(const std::vector<Subject>& due, std::unique_lock<std::mutex>& lock) {
    for (const Subject& subject : due) {
      const bool ends = subject.ends();
      lock.lock();
      for (Watched& one : watched_) {
        if (one.subject.client != subject.client) continue;
        one.done = ends;
        --one.looks_left;
        one.next_look = steady_clock::now() + one.pause;
        one.pause *= 2;
        if (ends) owner_.report(subject.client);
      }
      lock.unlock();
    }
  }

  // Woken without a change of the word: that counts too, and is looked at like a change.
  void note_wake(uint64_t client) {
    for (Watched& one : watched_) {
      if (one.subject.client == client) one.seen = false;
    }
  }

  void run() {
    if (!set_realtime()) shorten_time_slices();
    int failures = 0;
    Wait wait;
    std::vector<Subject> due;
    std::unique_lock lock(mutex_);
    while (!stopped_ && failures < kMaxFailures) {
      prepare(wait, due);
      lock.unlock();
      if (!due.empty()) {
        look_at(due, lock);
        lock.lock();
        continue;
      }
      const timespec until = wait.until ? timespec_of(*wait.until) : timespec{};
      const long woken = wait_for_any(wait.words.data(), wait.count, wait.until ? &until : nullptr);
      const int error = woken < 0 ? errno : 0;
      lock.lock();
      if (woken > 0) note_wake(wait.clients[static_cast<std::size_t>(woken)]);
      // EAGAIN: a word has changed meanwhile. EFAULT: a client was removed meanwhile.
      const bool expected = error == 0 || error == EAGAIN || error == EINTR || error == ETIMEDOUT;
      failures = expected ? 0 : failures + 1;
    }
  }

  ExitMonitor& owner_;
  std::thread thread_;
  std::mutex mutex_;  // guards all below but for the word itself
  std::vector<Watched> watched_;
  bool stopped_ = false;
  uint32_t control_ = 0;  // changes whenever the helper is to look again
};

base::Result<std::unique_ptr<ExitMonitor>> ExitMonitor::make() {
  // No words: EINVAL from a kernel that knows the call.
  if (wait_for_any(nullptr, 0, nullptr) == 0 || errno != EINVAL) {
    return base::Error{base::ErrorKind::kUnavailable,
                       "the kernel cannot wait for several words (Linux 5.16 or newer is needed)"};
  }
  base::UniqueFd ready(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!ready.valid()) return base::errno_error("cannot make an event descriptor", errno);
  return std::unique_ptr<ExitMonitor>(new ExitMonitor(std::move(ready), gettid()));
}

ExitMonitor::ExitMonitor(base::UniqueFd ready, pid_t reader)
    : ready_(std::move(ready)), reader_(reader) {}

ExitMonitor::~ExitMonitor() {
  helpers_.clear();
  reported_.clear();
  if (gettid() == reader_) handled();
}

bool ExitMonitor::add(Subject subject) {
  for (const auto& helper : helpers_) {
    if (helper->add(subject)) return true;
  }
  auto helper = std::make_unique<Helper>(*this);
  helper->add(subject);
  if (!helper->start()) return false;
  helpers_.push_back(std::move(helper));
  return true;
}

void ExitMonitor::remove(uint64_t client) {
  for (const auto& helper : helpers_) {
    if (helper->remove(client)) break;
  }
  const std::lock_guard lock(mutex_);
  std::erase(reported_, client);
}

std::vector<uint64_t> ExitMonitor::take() {
  uint64_t count = 0;
  // Nothing to read is no error: take() may be called at any time.
  static_cast<void>(!read(ready_.get(), &count, sizeof count));
  const std::lock_guard lock(mutex_);
  return std::exchange(reported_, {});
}

void ExitMonitor::handled() {
  const std::lock_guard lock(mutex_);
  if (!urgent_ || !reported_.empty()) return;  // what was told meanwhile is urgent still
  urgent_ = false;
  restore_policy();
}

void ExitMonitor::report(uint64_t client) {
  {
    const std::lock_guard lock(mutex_);
    reported_.push_back(client);
    urgent_ = set_realtime(reader_) || urgent_;
  }
  const uint64_t one = 1;
  // A counter that is full is readable all the same.
  static_cast<void>(!write(ready_.get(), &one, sizeof one));
}

}  // namespace optile::daemon
