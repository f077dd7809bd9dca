#include "bindings/preload/support/progress_lock.h"

#include <errno.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

namespace optile::preload {
namespace {

// So much of the patience, spent by all threads together, says that the holder's op may go on: on a
// crowded machine it gets no more.
constexpr int64_t kComputingNs = ProgressLock::kPatienceNs / 100;

int64_t spent_by_process() {
  timespec spent = {};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &spent);
  return static_cast<int64_t>(spent.tv_sec) * 1'000'000'000 + spent.tv_nsec;
}

}  // namespace

bool ProgressLock::wait() {
  const int kept_errno = errno;
  uint32_t seen = __atomic_load_n(&releases_, __ATOMIC_RELAXED);
  int64_t spent = -1;  // asked for once the patience is over
  int in_vain = 0;
  bool had = false;
  while (true) {
    if (__atomic_exchange_n(&state_, kAwaited, __ATOMIC_ACQUIRE) == kFree) {
      had = true;
      break;
    }
    const timespec patience = {0, kPatienceNs};
    const bool timed_out =
        syscall(SYS_futex, &state_, FUTEX_WAIT_PRIVATE, kAwaited, &patience, nullptr, 0) != 0 &&
        errno == ETIMEDOUT;
    if (!timed_out) continue;
    const uint32_t now = __atomic_load_n(&releases_, __ATOMIC_RELAXED);
    const int64_t spent_now = spent_by_process();
    in_vain = now == seen ? in_vain + 1 : 0;
    const bool is_idle = spent >= 0 && spent_now - spent < kComputingNs;
    if (in_vain > 0 && (is_idle || in_vain >= kMostPatience)) break;
    seen = now;
    spent = spent_now;
  }
  errno = kept_errno;
  return had;
}

void ProgressLock::wake_one() {
  const int kept_errno = errno;
  syscall(SYS_futex, &state_, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
  errno = kept_errno;
}

}  // namespace optile::preload
