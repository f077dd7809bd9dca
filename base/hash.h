// Stable 64-bit hashing of text (FNV-1a): the same in every process and release, since keys are
// stored. libc only, header only. Not for untrusted tables.
#pragma once

#include <stddef.h>
#include <stdint.h>

namespace optile::base {

inline constexpr uint64_t kHashSeed = UINT64_C(0xcbf29ce484222325);

inline uint64_t hash_bytes(const void* data, size_t size, uint64_t seed = kHashSeed) {
  const auto* bytes = static_cast<const unsigned char*>(data);
  uint64_t hash = seed;
  for (size_t i = 0; i < size; ++i) hash = (hash ^ bytes[i]) * UINT64_C(0x100000001b3);
  return hash;
}

// One word at a time, for numbers such as dimensions.
inline uint64_t hash_word(uint64_t word, uint64_t seed) {
  uint64_t mixed = (seed ^ word) * UINT64_C(0xff51afd7ed558ccd);
  return mixed ^ (mixed >> 32);
}

// The golden ratio's multiple of a key: neighbours lie far apart in its high bits; take those.
inline uint64_t mix64(uint64_t key) {
  return key * UINT64_C(0x9e3779b97f4a7c15);
}

}  // namespace optile::base
