// A set of cores as bits: slots of a CoreMap. Plain value; any thread. Whatever is done with it
// costs as much as the highest slot that it ever had, not as the largest machine there may be.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace optile::sched {

inline constexpr int kMaxCores = 1024;  // CoreSet::count() adds up 16 words, no more

class CoreSet {
 public:
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
  void remove_range(int first, int count) {
    each_part(first, count, [this](std::size_t i, std::uint64_t mask) { words_[i] &= ~mask; });
  }

  // Adds up inside the words, since not every processor that this is built for counts bits.
  int count() const {
    std::uint64_t bytes = 0;  // at most 8 bits of 16 words in each
    for (std::size_t i = 0; i < words_used_; ++i) bytes += ones_by_byte(words_[i]);
    return sum_of_bytes(bytes);
  }
  int count_range(int first, int count) const {
    std::uint64_t bytes = 0;
    int few = 0;
    each_part(first, count, [&](std::size_t i, std::uint64_t mask) {
      const std::uint64_t part = words_[i] & mask;
      if ((part & (part - 1)) == 0) {  // none or one, which is cheaper to tell than to add up
        few += static_cast<int>(part != 0);
      } else {
        bytes += ones_by_byte(part);
      }
    });
    return few + (bytes == 0 ? 0 : sum_of_bytes(bytes));
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

  // Calls `visit(slot)` for every member, ascending.
  template <typename Visit>
  void each(Visit visit) const {
    each_while([&](int slot) {
      visit(slot);
      return true;
    });
  }
  // The same, as long as `visit(slot)` says so.
  template <typename Visit>
  void each_while(Visit visit) const {
    for (std::size_t i = 0; i < words_used_; ++i) {
      for (std::uint64_t left = words_[i]; left != 0; left &= left - 1) {
        if (!visit(static_cast<int>(i * kBits) + std::countr_zero(left))) return;
      }
    }
  }

 private:
  static constexpr std::size_t kBits = 64;
  static constexpr std::size_t kWords = kMaxCores / kBits;
  static constexpr std::size_t word(int slot) { return static_cast<std::size_t>(slot) / kBits; }
  static constexpr std::size_t bit(int slot) { return static_cast<std::size_t>(slot) % kBits; }
  static constexpr std::uint64_t ones_by_byte(std::uint64_t word) {
    word -= (word >> 1U) & 0x5555555555555555U;
    word = (word & 0x3333333333333333U) + ((word >> 2U) & 0x3333333333333333U);
    return (word + (word >> 4U)) & 0x0f0f0f0f0f0f0f0fU;
  }
  static constexpr int sum_of_bytes(std::uint64_t bytes) {
    const std::uint64_t pairs =
        (bytes & 0x00ff00ff00ff00ffU) + ((bytes >> 8U) & 0x00ff00ff00ff00ffU);
    return static_cast<int>((pairs * 0x0001000100010001U) >> 48U);
  }
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
