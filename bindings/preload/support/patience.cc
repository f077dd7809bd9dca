#include "bindings/preload/support/patience.h"

#include <errno.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

namespace optile::preload {
namespace {

// So much of a span, spent by all threads together, says that who computes may go on: on a crowded
// machine it gets no more.
constexpr int64_t kComputingNs = Patience::kSpanNs / 100;

int64_t spent_by_process() {
  timespec spent = {};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &spent);
  return static_cast<int64_t>(spent.tv_sec) * 1'000'000'000 + spent.tv_nsec;
}

}  // namespace

bool Patience::sleep(uint32_t* word, uint32_t value) {
  const timespec span = {0, kSpanNs};
  return syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, &span, nullptr, 0) == 0 ||
         errno != ETIMEDOUT;
}

void Patience::wake_one(uint32_t* word) {
  const int kept_errno = errno;
  syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
  errno = kept_errno;
}

bool Patience::ends(uint32_t moves) {
  const int64_t spent = spent_by_process();
  in_vain_ = moves == seen_ ? in_vain_ + 1 : 0;
  const bool is_idle = spent_ >= 0 && spent - spent_ < kComputingNs;
  seen_ = moves;
  spent_ = spent;
  return in_vain_ > 0 && (is_idle || in_vain_ >= kMostSpans);
}

}  // namespace optile::preload
