#include "bindings/preload/core/issuing_thread.h"

#include <errno.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "bindings/preload/actuators/width_actuator.h"
#include "bindings/preload/shared_memory/attachment.h"
#include "bindings/preload/support/probe_hooks.h"

namespace optile::preload {

constinit thread_local IssuingThread* issuing_here = nullptr;

namespace {

IssuingThread threads[kMostIssuing];
uint32_t owners[kMostIssuing];  // thread ids; 0 = free
pthread_key_t end_of_thread;
bool reports_ends = false;

thread_local bool turned_away = false;

bool is_alive(uint32_t tid) {
  return syscall(SYS_tgkill, getpid(), static_cast<pid_t>(tid), 0) == 0 || errno != ESRCH;
}

// A thread that ends, in whatever way, inside an op or not, gives its part and its slot back. It
// may issue ops even after this, from another destructor, and then claims a slot anew.
void thread_ended(void* object) {
  auto* thread = static_cast<IssuingThread*>(object);
  if (issuing_here != thread) return;
  give_pool_back(*thread);  // it may have been cancelled in an op
  forget_issuer(thread->slot, &thread->part);
  issuing_here = nullptr;
  __atomic_store_n(&owners[thread->slot], 0, __ATOMIC_RELEASE);
}

__attribute__((constructor)) void prepare() {
  reports_ends = pthread_key_create(&end_of_thread, thread_ended) == 0;
}

IssuingThread* claim(uint32_t tid) {
  for (uint32_t i = 0; i < kMostIssuing; ++i) {
    uint32_t owner = __atomic_load_n(&owners[i], __ATOMIC_ACQUIRE);
    if (owner != 0 && is_alive(owner)) continue;
    if (!__atomic_compare_exchange_n(&owners[i], &owner, tid, false, __ATOMIC_ACQ_REL,
                                     __ATOMIC_RELAXED)) {
      continue;
    }
    // Of a thread that ended without a word, by the bare system call.
    give_pool_back(threads[i]);
    forget_issuer(i, &threads[i].part);
    IssuingThread fresh = {};
    fresh.slot = i;
    fresh.tid = tid;
    threads[i] = fresh;
    for (const ProbeHooks* probe : registered_probes()) {
      if (probe->thread_comes != nullptr) probe->thread_comes(i);
    }
    if (i >= OPTILE_MAX_THREADS) add_fallback(OPTILE_FALLBACK_THREADS_FULL);
    if (__atomic_add_fetch(&issuing_ever, 1, __ATOMIC_RELAXED) > 1) leave_pool();
    return &threads[i];
  }
  add_fallback(OPTILE_FALLBACK_THREADS_FULL);
  return nullptr;
}

}  // namespace

IssuingThread* issuing_thread() {
  if (issuing_here == nullptr && !turned_away) {
    const int kept_errno = errno;
    issuing_here = claim(static_cast<uint32_t>(syscall(SYS_gettid)));
    turned_away = issuing_here == nullptr;
    if (reports_ends && !turned_away) pthread_setspecific(end_of_thread, issuing_here);
    errno = kept_errno;
  }
  return issuing_here;
}

// The slot is the process's own, whose number no thread but the first one has.
IssuingThread* claim_shared_issuer() {
  return claim(static_cast<uint32_t>(getpid()));
}

IssuingThread* issue_as(IssuingThread* thread) {
  IssuingThread* before = issuing_here;
  issuing_here = thread;
  return before;
}

bool meets_first(IssuingThread& thread, uint32_t op_id) {
  const uint64_t bit = UINT64_C(1) << (op_id % 64);
  uint64_t& word = thread.met[op_id / 64];
  if ((word & bit) != 0) return false;
  word |= bit;
  return true;
}

}  // namespace optile::preload
