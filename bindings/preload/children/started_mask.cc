#include "bindings/preload/children/started_mask.h"

#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "bindings/abi/mask_word.h"
#include "bindings/preload/shared_memory/attachment.h"

namespace optile::preload {
namespace {

static_assert(sizeof(UnitMask) == OPTILE_MASK_WORDS * sizeof(uint64_t));

// Of what the daemon held the process to that this one was forked from.
uint64_t held_at_fork = 0;

// Masks that the program has set, as words; the oldest is overwritten. A thread may have inherited
// one, so they are not told apart by thread.
constexpr uint32_t kOwnMasks = 32;
uint64_t own_masks[kOwnMasks];
uint32_t own_count = 0;

uint64_t held_mask() {
  const Attachment* attached = attachment();
  return attached != nullptr ? optile_load64(&attached->plan->held_mask)
                             : __atomic_load_n(&held_at_fork, __ATOMIC_RELAXED);
}

bool is_own(uint64_t mask) {
  for (const uint64_t& own : own_masks) {
    if (__atomic_load_n(&own, __ATOMIC_RELAXED) == mask) return true;
  }
  return false;
}

bool read_mask(UnitMask* mask) {
  return syscall(SYS_sched_getaffinity, 0, sizeof mask->words, mask->words) > 0;
}

void set_mask(const UnitMask& mask) {
  syscall(SYS_sched_setaffinity, 0, sizeof mask.words, mask.words);
}

bool is_same(const UnitMask& one, const UnitMask& other) {
  return memcmp(&one, &other, sizeof one) == 0;
}

bool lies_within(const UnitMask& inner, const UnitMask& outer) {
  for (uint32_t i = 0; i < OPTILE_MASK_WORDS; ++i) {
    if ((inner.words[i] & ~outer.words[i]) != 0) return false;
  }
  return true;
}

}  // namespace

StartedMask::StartedMask() {
  const uint64_t held = held_mask();
  if (held == 0 || is_own(held)) return;
  const int kept_errno = errno;
  if (read_mask(&had_) && optile_mask_word(had_.words) == held && lies_within(had_, start_mask()) &&
      !is_same(had_, start_mask())) {
    set_mask(start_mask());
    held_ = held;
  }
  errno = kept_errno;
}

// Unless somebody has moved the thread meanwhile, or the lease.
void StartedMask::put_back() {
  if (held_ == 0 || held_mask() != held_) return;
  const int kept_errno = errno;
  UnitMask now;
  if (read_mask(&now) && is_same(now, start_mask())) set_mask(had_);
  errno = kept_errno;
}

void note_mask_for_child() {
  __atomic_store_n(&held_at_fork, held_mask(), __ATOMIC_RELAXED);
}

OwnMask::OwnMask(int tid, size_t bytes, const cpu_set_t* units) : tid_(tid) {
  if (units == nullptr) return;  // the kernel refuses that
  memcpy(mask_.words, units, bytes < sizeof mask_.words ? bytes : sizeof mask_.words);
  const Attachment* attached = attachment();
  if (attached == nullptr || tid <= 0) return;
  const auto thread = static_cast<uint64_t>(tid);
  optile_thread_binding* told = &attached->client->bindings[thread % OPTILE_MAX_BINDINGS];
  uint64_t count = optile_load64(&told->count);
  // Two of the same place at once: the other one has it.
  if (count % 2 != 0 || !__atomic_compare_exchange_n(&told->count, &count, count + 1, false,
                                                     __ATOMIC_SEQ_CST, __ATOMIC_RELAXED)) {
    return;
  }
  for (uint32_t i = 0; i < OPTILE_MASK_WORDS; ++i) optile_store64(&told->units[i], mask_.words[i]);
  optile_store64(&told->thread, 2 * thread + 1);
  __atomic_store_n(&told->count, count + 2, __ATOMIC_SEQ_CST);
  told_ = told;
}

void OwnMask::end(bool is_set) {
  if (told_ != nullptr) {
    const auto thread = static_cast<uint64_t>(tid_);
    uint64_t running = 2 * thread + 1;
    __atomic_compare_exchange_n(&told_->thread, &running, is_set ? 2 * thread : 0, false,
                                __ATOMIC_SEQ_CST, __ATOMIC_RELAXED);
  }
  if (!is_set) return;
  const uint64_t word = optile_mask_word(mask_.words);
  if (is_own(word)) return;
  const uint32_t at = __atomic_fetch_add(&own_count, 1, __ATOMIC_RELAXED) % kOwnMasks;
  __atomic_store_n(&own_masks[at], word, __ATOMIC_RELAXED);
}

}  // namespace optile::preload
