#include "bindings/preload/probes/openmp/region_sequence.h"

#include "base/hash.h"

namespace optile::preload {

uint32_t RegionSequence::first_slot(uint64_t context) {
  return static_cast<uint32_t>(base::mix64(context) >> 40) % kSlots;
}

// That of the context, or a free one, or the least trusted of those that it might have.
RegionSequence::Slot* RegionSequence::slot_for(uint64_t context) {
  uint32_t at = first_slot(context);
  Slot* weakest = &slots_[at];
  for (uint32_t probe = 0; probe < kProbes; ++probe, at = (at + 1) % kSlots) {
    Slot& slot = slots_[at];
    if (slot.context == context || slot.context == 0) return &slot;
    if (slot.trust < weakest->trust) weakest = &slot;
  }
  return weakest;
}

void RegionSequence::met(uint64_t context, KnownRegion* region) {
  if (context == 0) return;
  Slot* slot = slot_for(context);
  if (slot->context != context) {
    if (slot->context != 0 && slot->trust > 0) {
      --slot->trust;
      return;
    }
    *slot = {context, region, region == nullptr ? uint8_t{0} : uint8_t{1}};
    return;
  }
  if (slot->next == region) {
    if (region != nullptr && slot->trust < kMostTrust) ++slot->trust;
  } else if (slot->trust > 0) {
    --slot->trust;
  } else {
    slot->next = region;
    slot->trust = region == nullptr ? 0 : 1;
  }
}

KnownRegion* RegionSequence::expected(uint64_t context) const {
  uint32_t at = first_slot(context);
  for (uint32_t probe = 0; probe < kProbes; ++probe, at = (at + 1) % kSlots) {
    const Slot& slot = slots_[at];
    if (slot.context == context && context != 0) {
      return slot.trust >= kTrusted ? slot.next : nullptr;
    }
    if (slot.context == 0) return nullptr;
  }
  return nullptr;
}

void RegionSequence::forget() {
  for (Slot& slot : slots_) slot = {};
}

}  // namespace optile::preload
