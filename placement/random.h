// A small generator of its own, since costs must be the same from a seed on every machine and the
// standard library's distributions are not. SplitMix64 to seed, xorshift* to go on.
#pragma once

#include <cstdint>

namespace optile::placement {

class Random {
 public:
  explicit Random(std::uint64_t seed) {
    std::uint64_t mixed = seed + UINT64_C(0x9e3779b97f4a7c15);
    mixed = (mixed ^ (mixed >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    mixed = (mixed ^ (mixed >> 27)) * UINT64_C(0x94d049bb133111eb);
    state_ = (mixed ^ (mixed >> 31)) | 1U;
  }

  std::uint64_t next() {
    state_ ^= state_ >> 12;
    state_ ^= state_ << 25;
    state_ ^= state_ >> 27;
    return state_ * UINT64_C(0x2545f4914f6cdd1d);
  }
  // From 0 to below `end`, which is positive; the bias is below 2^-32 of a step.
  int below(int end) {
    return static_cast<int>(((next() >> 32) * static_cast<std::uint64_t>(end)) >> 32);
  }
  double unit() { return static_cast<double>(next() >> 11) * 0x1.0p-53; }  // [0, 1)

 private:
  std::uint64_t state_;
};

}  // namespace optile::placement
