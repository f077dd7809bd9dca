// What was decided in a situation, by the situation's fingerprint. Remembering costs no allocation
// but where it grows, and forgetting everything costs nothing: strategies do both at almost every
// event. Owned by one strategy; one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace optile::sched {

template <typename Decision>
class DecisionMemory {
 public:
  // `most`: situations that are remembered; further ones are not.
  explicit DecisionMemory(std::size_t most) : most_(most), slots_(kFirstSlots) {}

  // nullptr: not known. Until the next call of remember().
  const Decision* find(std::uint64_t situation) const {
    const Slot& slot = slots_[place_of(situation)];
    return slot.age == age_ ? &slot.decision : nullptr;
  }
  // Fingerprints are taken to be spread over all numbers.
  void remember(std::uint64_t situation, const Decision& decision) {
    if (count_ >= most_) return;
    if (2 * (count_ + 1) > slots_.size()) grow();
    Slot& slot = slots_[place_of(situation)];
    count_ += static_cast<std::size_t>(slot.age != age_);
    slot = {situation, age_, decision};
  }
  void forget_all() {
    ++age_;
    count_ = 0;
  }
  std::size_t size() const { return count_; }

 private:
  static constexpr std::size_t kFirstSlots = 64;  // a power of two, as all that follow

  struct Slot {
    std::uint64_t situation = 0;
    std::uint64_t age = 0;  // any but the current one: empty
    Decision decision{};
  };

  // Where it is, or where it would be.
  std::size_t place_of(std::uint64_t situation) const {
    const std::size_t mask = slots_.size() - 1;
    std::size_t place = static_cast<std::size_t>(situation) & mask;
    while (slots_[place].age == age_ && slots_[place].situation != situation) {
      place = (place + 1) & mask;
    }
    return place;
  }
  void grow() {
    std::vector<Slot> old(2 * slots_.size());
    std::swap(old, slots_);
    for (const Slot& slot : old) {
      if (slot.age == age_) slots_[place_of(slot.situation)] = slot;
    }
  }

  std::size_t most_;
  std::vector<Slot> slots_;
  std::uint64_t age_ = 1;
  std::size_t count_ = 0;
};

}  // namespace optile::sched
