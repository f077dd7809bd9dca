// A set of cores as bits: slots of a CoreMap. Plain value; any thread. Whatever is done with it
// costs as much as the highest slot that it ever had, not as the largest machine there may be.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "sched/cores/slot_bits.h"

namespace optile::sched {

inline constexpr int kMaxCores = 1024;  // CoreSet::count() adds up 16 words, no more

class CoreSet {
 public:
  static constexpr int kWordSlots = 64;  // from a multiple of it on, so many lie in one word

  bool has(int slot) const { return ((words_[word(slot)] >> bit(slot)) & 1U) != 0; }
  void add(int slot) {
    words_[word(slot)] |= std::uint64_t{1} << bit(slot);
    reach(word(slot));
  }
  void remove(int slot) { words_[word(slot)] &= ~(std::uint64_t{1} << bit(slot)); }

  void add_range(int first, int count) {
    each_part(first, count, [this](std::size_t i, std::uint64_t mask) {
      words_[i] |= mask;
      reach(i);
    });
  }

  int count() const {
    std::uint64_t bytes = 0;  // at most 8 bits of 16 words in each
    for (std::size_t i = 0; i < words_used_; ++i) bytes += ones_by_byte(words_[i]);
    return sum_of_bytes(bytes);
  }
  // How many members of this are in `other` too.
  int count_common(const CoreSet& other) const {
    std::uint64_t bytes = 0;
    for (std::size_t i = 0; i < common(other); ++i) {
      bytes += ones_by_byte(words_[i] & other.words_[i]);
    }
    return sum_of_bytes(bytes);
  }
  // The first member from this slot on; -1: there is none.
  int next(int from) const {
    std::size_t i = word(from);
    if (i >= words_used_) return -1;
    std::uint64_t left = words_[i] >> bit(from) << bit(from);
    while (left == 0) {
      if (++i == words_used_) return -1;
      left = words_[i];
    }
    return static_cast<int>(i * kBits) + std::countr_zero(left);
  }
  bool empty() const {
    std::uint64_t any = 0;
    for (std::size_t i = 0; i < words_used_; ++i) any |= words_[i];
    return any == 0;
  }
  bool overlaps(const CoreSet& other) const {
    std::uint64_t any = 0;
    for (std::size_t i = 0; i < common(other); ++i) any |= words_[i] & other.words_[i];
    return any != 0;
  }
  bool contains(const CoreSet& other) const {
    std::uint64_t outside = 0;
    for (std::size_t i = 0; i < other.words_used_; ++i) outside |= other.words_[i] & ~words_[i];
    return outside == 0;
  }
  CoreSet& operator|=(const CoreSet& other) {
    for (std::size_t i = 0; i < other.words_used_; ++i) words_[i] |= other.words_[i];
    words_used_ = std::max(words_used_, other.words_used_);
    return *this;
  }
  CoreSet& operator&=(const CoreSet& other) {
    // Beyond what the other set uses, its words are zero.
    for (std::size_t i = 0; i < words_used_; ++i) words_[i] &= other.words_[i];
    return *this;
  }
  CoreSet& operator-=(const CoreSet& other) {
    for (std::size_t i = 0; i < common(other); ++i) words_[i] &= ~other.words_[i];
    return *this;
  }
  bool operator==(const CoreSet& other) const { return words_ == other.words_; }

  // Moves the members among these slots to `to`.
  void move_range(int first, int count, CoreSet* to) {
    const auto move = [&](std::size_t i, std::uint64_t mask) {
      const std::uint64_t here = words_[i] & mask;
      words_[i] ^= here;
      to->words_[i] |= here;
      to->reach(i);
    };
    const std::size_t behind = bit(first) + static_cast<std::size_t>(count);
    if (count > 0 && behind <= kBits) {  // most tiles lie in one word
      move(word(first), ~std::uint64_t{0} >> (kBits - behind) >> bit(first) << bit(first));
    } else {
      each_part(first, count, move);
    }
  }
  // Moves the first so many members from this slot on; there are as many.
  void move_first(int from, int count, CoreSet* to) {
    for (int slot = next(from); count > 0 && slot >= 0; slot = next(slot), --count) {
      remove(slot);
      to->add(slot);
    }
  }
  // Adds `slots`, and leaves in `slots` those that were members before.
  void add_leaving_known(CoreSet* slots) {
    for (std::size_t i = 0; i < slots->words_used_; ++i) {
      const std::uint64_t added = slots->words_[i];
      slots->words_[i] &= words_[i];
      words_[i] |= added;
    }
    words_used_ = std::max(words_used_, slots->words_used_);
  }
  // Takes out of both what is in both.
  void cancel(CoreSet* slots) {
    for (std::size_t i = 0; i < common(*slots); ++i) {
      const std::uint64_t both = words_[i] & slots->words_[i];
      words_[i] ^= both;
      slots->words_[i] ^= both;
    }
  }

  // Calls `visit(slot)` for every member, ascending.
  template <typename Visit>
  void each(Visit visit) const {
    each_while([&](int slot) {
      visit(slot);
      return true;
    });
  }
  // For slots in groups, such as the cores of a tile: calls `visit(slot, bits)` for every group
  // that has members in a word, with the first of them and with all of them as bits. `group_bits`
  // says by slot which slots of its word are of its group.
  template <typename Visit>
  void each_group(const std::vector<std::uint64_t>& group_bits, Visit visit) const {
    for (std::size_t i = 0; i < words_used_; ++i) {
      for (std::uint64_t left = words_[i]; left != 0;) {
        const std::size_t slot = i * kBits + static_cast<std::size_t>(std::countr_zero(left));
        const std::uint64_t group = group_bits[slot];
        visit(static_cast<int>(slot), left & group);
        left &= ~group;
      }
    }
  }
  // The same as each(), as long as `visit(slot)` says so.
  template <typename Visit>
  void each_while(Visit visit) const {
    for (std::size_t i = 0; i < words_used_; ++i) {
      for (std::uint64_t left = words_[i]; left != 0; left &= left - 1) {
        if (!visit(static_cast<int>(i * kBits) + std::countr_zero(left))) return;
      }
    }
  }

 private:
  static constexpr std::size_t kBits = kWordSlots;
  static constexpr std::size_t kWords = kMaxCores / kBits;
  static constexpr std::size_t word(int slot) { return static_cast<std::size_t>(slot) / kBits; }
  static constexpr std::size_t bit(int slot) { return static_cast<std::size_t>(slot) % kBits; }
  // Calls `visit(word, mask)` for every word that these slots lie in.
  template <typename Visit>
  static void each_part(int first, int count, Visit visit) {
    while (count > 0) {
      const int here = std::min(count, static_cast<int>(kBits - bit(first)));
      const bool all = here == static_cast<int>(kBits);
      const std::uint64_t low = all ? ~std::uint64_t{0} : (std::uint64_t{1} << here) - 1;
      visit(word(first), low << bit(first));
      first += here;
      count -= here;
    }
  }

  void reach(std::size_t index) { words_used_ = std::max(words_used_, index + 1); }
  std::size_t common(const CoreSet& other) const {
    return std::min(words_used_, other.words_used_);
  }

  std::array<std::uint64_t, kWords> words_{};
  std::size_t words_used_ = 0;  // no word from here on ever had a member
};

}  // namespace optile::sched
