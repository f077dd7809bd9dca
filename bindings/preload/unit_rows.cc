#include "bindings/preload/unit_rows.h"

#include "bindings/abi/limits.h"
#include "bindings/preload/issuer_share.h"

namespace optile::preload {
namespace {

uint8_t owners[OPTILE_MAX_CPUS];  // by place: slot plus 1; 0 = nobody's
uint64_t used_at[kMostIssuing];   // by slot: its latest op began
// By slot: what it took last; some of it may be another's by now. Its thread's, and of who clears
// the slot after it.
struct Row {
  uint32_t first = 0;
  uint32_t count = 0;
};
Row rows[kMostIssuing];
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
  Row& row = rows[slot];
  row.first = first;
  for (row.count = 0; row.count < wanted; ++row.count) {
    if (take(slot, first + row.count, stale)) continue;
    give_row_back(slot);
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

bool has_row(uint32_t slot) {
  const Row& row = rows[slot];
  for (uint32_t i = 0; i < row.count; ++i) {
    if (__atomic_load_n(&owners[row.first + i], __ATOMIC_RELAXED) != slot + 1) return false;
  }
  return row.count != 0;
}

void note_use(uint32_t slot, uint64_t now) {
  __atomic_store_n(&used_at[slot], now, __ATOMIC_RELAXED);
}

void give_row_back(uint32_t slot) {
  Row& row = rows[slot];
  while (row.count > 0) give_back(slot, row.first + --row.count);
}

}  // namespace optile::preload
