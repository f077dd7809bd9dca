// Counting the bits of one word of a CoreSet by adding up inside the word, since not every
// processor that this is built for counts bits. Pure; any thread.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace optile::sched {

// How many bits each byte of a word has, in that byte: up to 31 of these may be added up.
constexpr std::uint64_t ones_by_byte(std::uint64_t word) {
  word -= (word >> 1U) & 0x5555555555555555U;
  word = (word & 0x3333333333333333U) + ((word >> 2U) & 0x3333333333333333U);
  return (word + (word >> 4U)) & 0x0f0f0f0f0f0f0f0fU;
}

constexpr int sum_of_bytes(std::uint64_t bytes) {
  const std::uint64_t pairs = (bytes & 0x00ff00ff00ff00ffU) + ((bytes >> 8U) & 0x00ff00ff00ff00ffU);
  return static_cast<int>((pairs * 0x0001000100010001U) >> 48U);
}

inline constexpr std::array<std::uint8_t, 256> kOnesOfByte = [] {
  std::array<std::uint8_t, 256> ones{};
  for (std::size_t i = 0; i < ones.size(); ++i) {
    ones[i] = static_cast<std::uint8_t>((i & 1U) + ones[i / 2]);
  }
  return ones;
}();

// Cheap where all of them lie within eight that follow each other, as those of small tiles do.
constexpr int count_bits(std::uint64_t bits) {
  if (bits == 0) return 0;
  const std::uint64_t low = bits >> static_cast<unsigned>(std::countr_zero(bits));
  return low < kOnesOfByte.size() ? kOnesOfByte[low] : sum_of_bytes(ones_by_byte(bits));
}

}  // namespace optile::sched
