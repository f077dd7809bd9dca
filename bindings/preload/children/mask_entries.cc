// The functions by which threads get masks: what the program sets itself is told to the daemon
// before the call, and the mask that it began with is learned before the first.
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "bindings/preload/children/started_mask.h"
#include "bindings/preload/runtimes/loaded_object.h"
#include "bindings/preload/runtimes/runtime_at_start.h"
#include "bindings/preload/runtimes/runtime_resolver.h"
#include "bindings/preload/runtimes/runtimes_in_use.h"
#include "bindings/preload/support/start_mask.h"

namespace optile::preload {
namespace {

using SetAffinityFn = int (*)(pthread_t, size_t, const cpu_set_t*);
using SetProcessAffinityFn = int (*)(pid_t, size_t, const cpu_set_t*);

SetAffinityFn next_function = nullptr;
SetProcessAffinityFn next_of_processes = nullptr;

SetAffinityFn find_next() {
  return reinterpret_cast<SetAffinityFn>(dlsym(RTLD_NEXT, "pthread_setaffinity_np"));
}

SetProcessAffinityFn find_next_of_processes() {
  return reinterpret_cast<SetProcessAffinityFn>(dlsym(RTLD_NEXT, "sched_setaffinity"));
}

int own_id() {
  return static_cast<int>(syscall(SYS_gettid));
}

// The kernel's number, which its clock of a thread holds, inverted, above the lowest three bits. 0:
// not known.
int id_of(pthread_t thread) {
  if (pthread_equal(thread, pthread_self()) != 0) return own_id();
  clockid_t clock = 0;
  return pthread_getcpuclockid(thread, &clock) == 0 ? ~(clock >> 3) : 0;
}

bool is_of_unused_libgomp(const void* caller) {
  const void* used = found_at_start(kGetMaxThreads);
  if (used == nullptr || runtime_kind(object_of(used)) != OPTILE_RUNTIME_LLVM) return false;
  return runtime_kind(object_of(caller)) == OPTILE_RUNTIME_LIBGOMP;
}

// So that a forked child need not ask the dynamic linker.
__attribute__((constructor)) void find_next_functions() {
  __atomic_store_n(&next_function, find_next(), __ATOMIC_RELEASE);
  __atomic_store_n(&next_of_processes, find_next_of_processes(), __ATOMIC_RELEASE);
}

}  // namespace

}  // namespace optile::preload

// libgomp's constructor binds the main thread by this function.
extern "C" int pthread_setaffinity_np(pthread_t thread, size_t bytes,
                                      const cpu_set_t* units) noexcept {
  using namespace optile::preload;
  start_mask();
  SetAffinityFn next = __atomic_load_n(&next_function, __ATOMIC_ACQUIRE);
  if (next == nullptr) next = find_next();
  if (next == nullptr) return ENOSYS;
  // A libgomp that is opened behind the program's own runtime is asked for nothing; the mask that
  // it leaves would be all that the other finds when it is first used.
  if (is_of_unused_libgomp(__builtin_return_address(0))) return 0;
  OwnMask own(id_of(thread), bytes, units);
  const int error = next(thread, bytes, units);
  own.end(error == 0);
  return error;
}

extern "C" int sched_setaffinity(pid_t process, size_t bytes, const cpu_set_t* units) noexcept {
  using namespace optile::preload;
  start_mask();
  SetProcessAffinityFn next = __atomic_load_n(&next_of_processes, __ATOMIC_ACQUIRE);
  if (next == nullptr) next = find_next_of_processes();
  if (next == nullptr) {
    errno = ENOSYS;
    return -1;
  }
  OwnMask own(process == 0 ? own_id() : process, bytes, units);
  const int result = next(process, bytes, units);
  own.end(result == 0);
  return result;
}
