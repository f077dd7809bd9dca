// What was found out about an address, asked for once: where the linker or a library has to be
// asked, an op cannot afford it twice. A full table costs time, never the answer; what was found
// out before an object was unloaded is asked for again. Fixed size; any thread; lives in zeroed
// memory for as long as the process.
#pragma once

#include <stdint.h>

#include "base/hash.h"
#include "bindings/preload/support/unloading.h"

namespace optile::preload {

// `Value` is copied; what answers must be the same whoever asks. `kSlots` is a power of two,
// several times as many as there are addresses where one is drawn into another's place by chance.
template <typename Value, uint32_t kSlots>
class PerAddress {
 public:
  // The value of `address`, not null: what `ask(address)` said when it was first asked for.
  template <typename Ask>
  Value get(const void* address, Ask ask) {
    const uint32_t at = first_slot(address);
    // Nearly always.
    if (__atomic_load_n(&slots_[at].address, __ATOMIC_ACQUIRE) == address &&
        __atomic_load_n(&slots_[at].made, __ATOMIC_ACQUIRE) == now()) {
      return slots_[at].value;
    }
    return search(address, at, ask);
  }

 private:
  static_assert(kSlots >= 8 && (kSlots & (kSlots - 1)) == 0, "a remainder is a mask");
  static constexpr uint32_t kProbes = 8;

  struct Slot {
    const void* address = nullptr;
    uint32_t made = 0;  // now() of that time; 0: it is being written
    Value value = {};
  };

  static uint32_t now() { return unloadings() + 1; }

  template <typename Ask>
  __attribute__((noinline)) Value search(const void* address, uint32_t at, Ask ask) {
    for (uint32_t probe = 0; probe < kProbes; ++probe, at = (at + 1) % kSlots) {
      Slot& slot = slots_[at];
      const void* there = __atomic_load_n(&slot.address, __ATOMIC_ACQUIRE);
      if (there != nullptr && there != address) continue;
      uint32_t made = __atomic_load_n(&slot.made, __ATOMIC_ACQUIRE);
      const uint32_t asked = now();
      if (there == address && made == asked) return slot.value;
      const Value found = ask(address);
      // One thread writes it down: who found it empty, or out of date.
      const bool mine =
          there == nullptr
              ? __atomic_compare_exchange_n(&slot.address, &there, address, false, __ATOMIC_ACQ_REL,
                                            __ATOMIC_RELAXED)
              : made != 0 && __atomic_compare_exchange_n(&slot.made, &made, 0, false,
                                                         __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
      if (mine) {
        slot.value = found;
        __atomic_store_n(&slot.made, asked, __ATOMIC_RELEASE);
      }
      return found;
    }
    return ask(address);
  }

  static uint32_t first_slot(const void* address) {
    const uint64_t mixed = base::mix64(reinterpret_cast<uintptr_t>(address));
    return static_cast<uint32_t>(mixed >> 32) % kSlots;
  }

  Slot slots_[kSlots] = {};
};

}  // namespace optile::preload
