// A set of cores as bits: slots of a CoreMap. Plain value; any thread.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace optile::sched {

inline constexpr int kMaxCores = 1024;

class CoreSet {
 public:
  bool has(int slot) const { return ((words_[word(slot)] >> bit(slot)) & 1U) != 0; }
  void add(int slot) { words_[word(slot)] |= std::uint64_t{1} << bit(slot); }
  void remove(int slot) { words_[word(slot)] &= ~(std::uint64_t{1} << bit(slot)); }

  int count() const {
    int sum = 0;
    for (const std::uint64_t one : words_) sum += std::popcount(one);
    return sum;
  }
  bool empty() const {
    std::uint64_t any = 0;
    for (const std::uint64_t one : words_) any |= one;
    return any == 0;
  }
  bool overlaps(const CoreSet& other) const {
    std::uint64_t any = 0;
    for (std::size_t i = 0; i < kWords; ++i) any |= words_[i] & other.words_[i];
    return any != 0;
  }
  bool contains(const CoreSet& other) const {
    std::uint64_t outside = 0;
    for (std::size_t i = 0; i < kWords; ++i) outside |= other.words_[i] & ~words_[i];
    return outside == 0;
  }
  CoreSet& operator|=(const CoreSet& other) {
    for (std::size_t i = 0; i < kWords; ++i) words_[i] |= other.words_[i];
    return *this;
  }
  CoreSet& operator&=(const CoreSet& other) {
    for (std::size_t i = 0; i < kWords; ++i) words_[i] &= other.words_[i];
    return *this;
  }
  CoreSet& operator-=(const CoreSet& other) {
    for (std::size_t i = 0; i < kWords; ++i) words_[i] &= ~other.words_[i];
    return *this;
  }
  bool operator==(const CoreSet&) const = default;

  // Calls `visit(slot)` for every member, ascending.
  template <typename Visit>
  void each(Visit visit) const {
    for (std::size_t i = 0; i < kWords; ++i) {
      for (std::uint64_t left = words_[i]; left != 0; left &= left - 1) {
        visit(static_cast<int>(i * kBits) + std::countr_zero(left));
      }
    }
  }

 private:
  static constexpr std::size_t kBits = 64;
  static constexpr std::size_t kWords = kMaxCores / kBits;
  static constexpr std::size_t word(int slot) { return static_cast<std::size_t>(slot) / kBits; }
  static constexpr std::size_t bit(int slot) { return static_cast<std::size_t>(slot) % kBits; }

  std::array<std::uint64_t, kWords> words_{};
};

}  // namespace optile::sched
