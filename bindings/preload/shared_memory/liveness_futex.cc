#include "bindings/preload/shared_memory/liveness_futex.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace optile::preload {
namespace {

static_assert(sizeof(pthread_mutex_t) <= sizeof(optile_client_header::life),
              "the C library's mutex does not fit into the client header");
static_assert(alignof(pthread_mutex_t) <= alignof(uint64_t), "nor may it want more alignment");
// The daemon watches the first word, which is the futex itself.
static_assert(offsetof(pthread_mutex_t, __data.__lock) == 0, "the futex is not the first word");

pthread_mutex_t* mutex_in(optile_client_region* client) {
  return reinterpret_cast<pthread_mutex_t*>(client->header.life);
}

bool make_robust(pthread_mutex_t* mutex) {
  pthread_mutexattr_t attributes;
  if (pthread_mutexattr_init(&attributes) != 0) return false;
  const bool made = pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST) == 0 &&
                    pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED) == 0 &&
                    pthread_mutex_init(mutex, &attributes) == 0;
  pthread_mutexattr_destroy(&attributes);
  return made;
}

// The kernel wakes nobody unless the word says that somebody waits, and the daemon cannot say so:
// it may only read. Then whoever waits looks again, at the word as it now is.
void tell_watchers(pthread_mutex_t* mutex) {
  __atomic_fetch_or(&mutex->__data.__lock, static_cast<int>(FUTEX_WAITERS), __ATOMIC_ACQ_REL);
  syscall(SYS_futex, &mutex->__data.__lock, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

}  // namespace

void hold_life(optile_client_region* client) {
  const int kept_errno = errno;
  pthread_mutex_t* mutex = mutex_in(client);
  if (make_robust(mutex) && pthread_mutex_trylock(mutex) == 0) tell_watchers(mutex);
  errno = kept_errno;
}

void take_over_life(optile_client_region* client) {
  const int kept_errno = errno;
  pthread_mutex_t* mutex = mutex_in(client);
  if (pthread_mutex_trylock(mutex) == EOWNERDEAD) {
    pthread_mutex_consistent(mutex);
    tell_watchers(mutex);
  }
  errno = kept_errno;
}

}  // namespace optile::preload
