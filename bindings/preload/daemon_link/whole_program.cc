#include "bindings/preload/daemon_link/whole_program.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/cpu_counter.h"
#include "bindings/abi/mask_word.h"
#include "bindings/preload/daemon_link/attach_request.h"
#include "bindings/preload/runtimes/loaded_object.h"
#include "bindings/preload/shared_memory/attachment.h"
#include "bindings/preload/support/environment.h"
#include "bindings/preload/support/start_mask.h"
#include "bindings/preload/support/uncancelled.h"

namespace optile::preload {
namespace {

using CreateFn = int (*)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
using GetAffinityFn = int (*)(pid_t, size_t, cpu_set_t*);

// Beginnings of file names.
constexpr const char* kSteered[] = {"libgomp.", "libgomp-",          "libomp.", "libomp-",
                                    "libiomp5", "libopenblas",       "libmkl_", "libblis",
                                    "libtbb",   "libscipy_openblas", "libblas."};

// XLA and Java, which ask by this function and by no other.
constexpr const char* kByMask[] = {"libjax_common.", "xla_extension.", "libjvm."};

CreateFn next_function = nullptr;
GetAffinityFn next_question = nullptr;
uint32_t own_threads = 0;
int asked = 0;

CreateFn find_next() {
  return reinterpret_cast<CreateFn>(dlsym(RTLD_NEXT, "pthread_create"));
}

GetAffinityFn find_next_question() {
  return reinterpret_cast<GetAffinityFn>(dlsym(RTLD_NEXT, "sched_getaffinity"));
}

// So that a forked child need not ask the dynamic linker.
__attribute__((constructor)) void find_next_functions() {
  __atomic_store_n(&next_function, find_next(), __ATOMIC_RELEASE);
  __atomic_store_n(&next_question, find_next_question(), __ATOMIC_RELEASE);
}

bool begins_with_any(const char* const* first, const char* const* past_last, const char* name) {
  for (; first != past_last; ++first) {
    if (strncmp(name, *first, strlen(*first)) == 0) return true;
  }
  return false;
}

bool has_mask(uint64_t held) {
  UnitMask mask;
  return held != 0 && syscall(SYS_sched_getaffinity, 0, sizeof mask.words, mask.words) > 0 &&
         optile_mask_word(mask.words) == held;
}

// The daemon sets it from outside, a moment after it has said that it will.
void await_mask(const Attachment& attached) {
  const Uncancelled uncancelled;
  const uint64_t until = base::monotonic_ns() + kMostMaskWaitNs;
  const timespec pause = {0, 200000};
  while (!has_mask(optile_load64(&attached.plan->held_mask)) && base::monotonic_ns() < until) {
    nanosleep(&pause, nullptr);
  }
}

}  // namespace

bool is_of_launcher() {
  return !environment().off && environment().run_id[0] != '\0';
}

bool makes_steered_threads(const char* path) {
  return begins_with_any(kSteered, kSteered + sizeof kSteered / sizeof *kSteered, file_name(path));
}

bool sizes_pools_by_mask(const char* library, const char* program) {
  if (library[0] == '\0') return !is_interpreter(program);
  return begins_with_any(kByMask, kByMask + sizeof kByMask / sizeof *kByMask, file_name(library));
}

void note_thread(const void* caller) {
  if (!is_of_launcher() || makes_steered_threads(object_of(caller))) return;
  const uint32_t before = __atomic_load_n(&own_threads, __ATOMIC_RELAXED);
  const uint32_t most = threads_of_a_pool(usable_units());
  if (before < most && __atomic_add_fetch(&own_threads, 1, __ATOMIC_RELAXED) < most) return;
  attach_as_whole_program(OPTILE_WHOLE_RUNS);
}

bool note_mask_question(const void* caller) {
  if (!is_of_launcher() || __atomic_load_n(&asked, __ATOMIC_RELAXED) != 0) return false;
  const char* library = library_of(caller);
  if (!sizes_pools_by_mask(library, object_of(caller))) return false;
  // The program's own threads are there already; a library's come after its question.
  if (library[0] == '\0' && __atomic_load_n(&own_threads, __ATOMIC_RELAXED) != 0) return false;
  if (__atomic_exchange_n(&asked, 1, __ATOMIC_RELAXED) != 0) return false;
  const int kept_errno = errno;
  attach_as_whole_program(OPTILE_WHOLE_SIZES_POOLS);
  const Attachment* attached = attachment();
  const bool follows = attached != nullptr && optile_load64(&attached->plan->mask_follows) != 0;
  if (follows) await_mask(*attached);
  errno = kept_errno;
  return follows;
}

void note_sized_pools(uint32_t units) {
  const Attachment* attached = attachment();
  if (attached != nullptr) optile_store32(&attached->client->header.sized_units, units);
}

}  // namespace optile::preload

extern "C" int pthread_create(pthread_t* thread, const pthread_attr_t* attributes,
                              void* (*start)(void*), void* argument) noexcept {
  using namespace optile::preload;
  note_thread(__builtin_return_address(0));
  CreateFn next = __atomic_load_n(&next_function, __ATOMIC_ACQUIRE);
  if (next == nullptr) next = find_next();
  return next == nullptr ? EAGAIN : next(thread, attributes, start, argument);
}

extern "C" int sched_getaffinity(pid_t process, size_t bytes, cpu_set_t* units) noexcept {
  using namespace optile::preload;
  const bool of_itself = process == 0 || process == getpid();
  const bool sizes = of_itself && note_mask_question(__builtin_return_address(0));
  GetAffinityFn next = __atomic_load_n(&next_question, __ATOMIC_ACQUIRE);
  if (next == nullptr) next = find_next_question();
  if (next == nullptr) {
    errno = ENOSYS;
    return -1;
  }
  const int result = next(process, bytes, units);
  if (sizes && result == 0) note_sized_pools(static_cast<uint32_t>(CPU_COUNT_S(bytes, units)));
  return result;
}
