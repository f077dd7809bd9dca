// Which region comes next on a thread: what came last after the same context (the rolling hash of
// the last eight op keys). An answer is given once the same followed twice, and until it was wrong
// as often. Pure, fixed size; one object per thread.
#pragma once

#include <stdint.h>

namespace optile::preload {

struct KnownRegion;

class RegionSequence {
 public:
  // `region` begins in `context`; null: something that is no region does.
  void met(uint64_t context, KnownRegion* region);
  // Null where nobody knows.
  KnownRegion* expected(uint64_t context) const;
  void forget();

 private:
  static constexpr uint32_t kSlots = 1024;  // contexts; further ones take the place of weak ones
  static constexpr uint32_t kProbes = 4;
  static constexpr uint8_t kTrusted = 2;
  static constexpr uint8_t kMostTrust = 3;
  struct Slot {
    uint64_t context = 0;  // 0 = free
    KnownRegion* next = nullptr;
    uint8_t trust = 0;
  };
  static uint32_t first_slot(uint64_t context);
  Slot* slot_for(uint64_t context);

  Slot slots_[kSlots];
};

}  // namespace optile::preload
