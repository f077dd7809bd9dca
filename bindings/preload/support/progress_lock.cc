#include "bindings/preload/support/progress_lock.h"

#include <errno.h>

namespace optile::preload {

bool ProgressLock::wait() {
  const int kept_errno = errno;
  Patience patience(__atomic_load_n(&releases_, __ATOMIC_RELAXED));
  bool had = false;
  bool over = false;
  while (!had && !over) {
    had = __atomic_exchange_n(&state_, kAwaited, __ATOMIC_ACQUIRE) == kFree;
    if (had || Patience::sleep(&state_, kAwaited)) continue;
    over = patience.ends(__atomic_load_n(&releases_, __ATOMIC_RELAXED));
  }
  errno = kept_errno;
  return had;
}

}  // namespace optile::preload
