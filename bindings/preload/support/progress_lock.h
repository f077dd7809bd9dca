// A lock whose holder may run somebody else's code for long: who waits for it does so asleep, and
// gives up where the lock does not change hands (patience.h). Lives in zeroed memory; any thread;
// not to be taken twice by one thread.
#pragma once

#include <stdint.h>

#include "base/cpu_counter.h"
#include "bindings/preload/support/patience.h"

namespace optile::preload {

class ProgressLock {
 public:
  // False: it was not had.
  bool acquire() { return try_acquire() || wait(); }
  // Of a lock that is never held for longer than it takes to fall asleep and be woken: looks a few
  // times first.
  bool acquire_soon() {
    for (uint32_t look = 0; look < kLooks; ++look) {
      if (try_acquire()) return true;
      base::cpu_pause();
    }
    return wait();
  }
  bool try_acquire() {
    uint32_t nobody = kFree;
    return __atomic_compare_exchange_n(&state_, &nobody, kHeld, false, __ATOMIC_ACQUIRE,
                                       __ATOMIC_RELAXED);
  }
  void release() {
    __atomic_store_n(&releases_, releases_ + 1, __ATOMIC_RELAXED);
    if (__atomic_exchange_n(&state_, kFree, __ATOMIC_RELEASE) == kAwaited) {
      Patience::wake_one(&state_);
    }
  }

 private:
  static constexpr uint32_t kFree = 0, kHeld = 1, kAwaited = 2;
  static constexpr uint32_t kLooks = 64;

  bool wait();

  uint32_t state_ = kFree;
  uint32_t releases_ = 0;  // by its holders
};

}  // namespace optile::preload
