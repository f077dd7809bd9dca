#include "bindings/preload/unit_rows.h"

#include "bindings/abi/limits.h"
#include "bindings/preload/issuer_share.h"

namespace optile::preload {
namespace {

uint8_t owners[OPTILE_MAX_CPUS];  // by place: slot plus 1; 0 = nobody's
uint64_t used_at[kMostIssuing];   // by slot: its latest op began
static_assert(kMostIssuing < UINT8_MAX, "a slot fits in its byte");

bool has_stopped(uint32_t slot, uint64_t stale) {
  return __atomic_load_n(&used_at[slot], __ATOMIC_RELAXED) < stale && !is_inside(slot);
}

bool take(uint32_t slot, uint32_t place, uint64_t stale) {
  uint8_t owner = __atomic_load_n(&owners[place], __ATOMIC_RELAXED);
  if (owner != 0 && !has_stopped(owner - 1U, stale)) return false;
  return __atomic_compare_exchange_n(&owners[place], &owner, static_cast<uint8_t>(slot + 1), false,
                                     __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
}

void give_back(uint32_t slot, uint32_t place) {
  auto mine = static_cast<uint8_t>(slot + 1);
  __atomic_compare_exchange_n(&owners[place], &mine, uint8_t{0}, false, __ATOMIC_ACQ_REL,
                              __ATOMIC_RELAXED);
}

bool take_from(uint32_t first, uint32_t slot, uint32_t wanted, uint64_t stale) {
  for (uint32_t i = 0; i < wanted; ++i) {
    if (take(slot, first + i, stale)) continue;
    while (i-- > 0) give_back(slot, first + i);
    return false;
  }
  return true;
}

}  // namespace

int take_row(uint32_t slot, uint32_t wanted, uint32_t places, uint64_t stale) {
  give_row_back(slot);
  if (wanted == 0 || wanted > places || places > OPTILE_MAX_CPUS) return -1;
  // Where all want as many their rows fit without gaps.
  for (uint32_t first = 0; first + wanted <= places; first += wanted) {
    if (take_from(first, slot, wanted, stale)) return static_cast<int>(first);
  }
  for (uint32_t first = 0; first + wanted <= places; ++first) {
    if (take_from(first, slot, wanted, stale)) return static_cast<int>(first);
  }
  return -1;
}

bool has_row(uint32_t slot, uint32_t first, uint32_t count) {
  for (uint32_t i = first; i < first + count; ++i) {
    if (__atomic_load_n(&owners[i], __ATOMIC_RELAXED) != slot + 1) return false;
  }
  return true;
}

void note_use(uint32_t slot, uint64_t now) {
  __atomic_store_n(&used_at[slot], now, __ATOMIC_RELAXED);
}

void give_row_back(uint32_t slot) {
  for (uint32_t i = 0; i < OPTILE_MAX_CPUS; ++i) {
    if (__atomic_load_n(&owners[i], __ATOMIC_RELAXED) == slot + 1) give_back(slot, i);
  }
}

}  // namespace optile::preload
