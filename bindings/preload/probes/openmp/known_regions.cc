#include "bindings/preload/probes/openmp/known_regions.h"

#include <string.h>

#include "base/hash.h"
#include "bindings/abi/layout.h"
#include "bindings/preload/probes/openmp/region_rules.h"
#include "bindings/preload/runtimes/loaded_object.h"
#include "bindings/preload/support/environment.h"
#include "bindings/preload/support/unloading.h"

namespace optile::preload {
namespace {

constexpr uint32_t kKnownRegions = 1024;  // beyond that a region's key is worked out every time
constexpr uint32_t kProbes = 8;

KnownRegion known[kKnownRegions];

// File name and offset: the same in every run, whatever the loader's addresses.
uint64_t work_out_key(const void* function) {
  const ObjectPlace where = place_of(function);
  if (where.path[0] == '\0') return 1;
  const char* name = file_name(where.path);
  const uint64_t key = base::hash_word(where.offset, base::hash_bytes(name, strlen(name)));
  return key == 0 ? 1 : key;
}

void get_to_know(KnownRegion& slot, const void* function, uint64_t key) {
  if (regions_are_tuned()) {
    slot.reasons = reasons_of_object(function);
    note_new_region();
  }
  optile_store64(&slot.key, key);
}

// Something was unloaded since; another object may lie there now.
void look_again(KnownRegion& slot, const void* function) {
  uint32_t made = __atomic_load_n(&slot.made, __ATOMIC_ACQUIRE);
  const uint32_t now = unloadings();
  const uint64_t known_key = optile_load64(&slot.key);
  if (made == now || known_key == 0 ||
      !__atomic_compare_exchange_n(&slot.made, &made, now, false, __ATOMIC_ACQ_REL,
                                   __ATOMIC_ACQUIRE)) {
    return;
  }
  const uint64_t key = work_out_key(function);
  if (key == known_key) return;
  slot.clause = 0;
  slot.told = 0;
  get_to_know(slot, function, key);
}

}  // namespace

KnownRegion* known_region(const void* function) {
  const uint64_t mixed = base::mix64(reinterpret_cast<uintptr_t>(function));
  auto at = static_cast<uint32_t>(mixed >> 32) % kKnownRegions;
  for (uint32_t probe = 0; probe < kProbes; ++probe, at = (at + 1) % kKnownRegions) {
    KnownRegion& slot = known[at];
    const void* there = __atomic_load_n(&slot.function, __ATOMIC_ACQUIRE);
    if (there == nullptr && __atomic_compare_exchange_n(&slot.function, &there, function, false,
                                                        __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
      __atomic_store_n(&slot.made, unloadings(), __ATOMIC_RELAXED);
      get_to_know(slot, function, work_out_key(function));
      return &slot;
    }
    if (there != function) continue;
    look_again(slot, function);
    // Another thread is working it out.
    return optile_load64(&slot.key) == 0 ? nullptr : &slot;
  }
  return nullptr;
}

uint64_t region_key(const void* function) {
  const KnownRegion* region = known_region(function);
  return region == nullptr ? work_out_key(function) : optile_load64(&region->key);
}

}  // namespace optile::preload
