#include "bindings/preload/support/start_mask.h"

#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace optile::preload {
namespace {

// Written while libraries are set up, by the one thread that there is.
UnitMask mask;
bool learned = false;

__attribute__((constructor)) void note_start() {
  start_mask();
}

}  // namespace

uint32_t UnitMask::count() const {
  uint32_t units = 0;
  for (const uint64_t word : words) units += static_cast<uint32_t>(__builtin_popcountll(word));
  return units;
}

const UnitMask& start_mask() {
  if (__atomic_load_n(&learned, __ATOMIC_ACQUIRE)) return mask;
  const int kept_errno = errno;
  if (syscall(SYS_sched_getaffinity, 0, sizeof mask.words, mask.words) < 0) mask = UnitMask{};
  errno = kept_errno;
  __atomic_store_n(&learned, true, __ATOMIC_RELEASE);
  return mask;
}

}  // namespace optile::preload
