// SHA-256 (FIPS 180-4), for telling that a file is what its writer left: the same in the shim and
// in the command line. libc only, header only, no allocation. Any thread.
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <string.h>

namespace optile::base {

class Sha256 {
 public:
  static constexpr size_t kTextBytes = 65;  // 64 hexadecimal digits and a zero

  void add(const void* data, size_t bytes) {
    const auto* next = static_cast<const unsigned char*>(data);
    total_ += bytes;
    while (bytes > 0) {
      const size_t room = sizeof block_ - filled_;
      const size_t taken = bytes < room ? bytes : room;
      memcpy(block_ + filled_, next, taken);
      filled_ += taken;
      next += taken;
      bytes -= taken;
      if (filled_ == sizeof block_) take_block();
    }
  }

  // Ends the sum; nothing may be added afterwards.
  void write_text(char (&text)[kTextBytes]) {
    const uint64_t bits = total_ * 8;
    const unsigned char one = 0x80;
    const unsigned char zero = 0;
    add(&one, 1);
    while (filled_ != sizeof block_ - 8) add(&zero, 1);
    unsigned char length[8];
    for (int i = 0; i < 8; ++i) length[i] = static_cast<unsigned char>(bits >> (56 - 8 * i));
    add(length, sizeof length);
    constexpr const char* kDigits = "0123456789abcdef";
    for (size_t i = 0; i < kTextBytes - 1; ++i) {
      text[i] = kDigits[(state_[i / 8] >> (28 - 4 * (i % 8))) & 15];
    }
    text[kTextBytes - 1] = '\0';
  }

 private:
  static uint32_t turn(uint32_t word, int by) { return (word >> by) | (word << (32 - by)); }

  // The first 32 bits behind the point of the cube roots of the first 64 primes (section 4.2.2).
  static constexpr uint32_t kConstants[64] = {
      0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4,
      0xab1c5ed5, 0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe,
      0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f,
      0x4a7484aa, 0x5cb0a9dc, 0x76f988da, 0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7,
      0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967, 0x27b70a85, 0x2e1b2138, 0x4d2c6dfc,
      0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b,
      0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070, 0x19a4c116,
      0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
      0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7,
      0xc67178f2};

  void take_block() {
    uint32_t w[64];
    for (size_t i = 0; i < 16; ++i) {
      w[i] = static_cast<uint32_t>(block_[4 * i]) << 24 |
             static_cast<uint32_t>(block_[4 * i + 1]) << 16 |
             static_cast<uint32_t>(block_[4 * i + 2]) << 8 |
             static_cast<uint32_t>(block_[4 * i + 3]);
    }
    for (size_t i = 16; i < 64; ++i) {
      const uint32_t low = turn(w[i - 15], 7) ^ turn(w[i - 15], 18) ^ (w[i - 15] >> 3);
      const uint32_t high = turn(w[i - 2], 17) ^ turn(w[i - 2], 19) ^ (w[i - 2] >> 10);
      w[i] = w[i - 16] + low + w[i - 7] + high;
    }
    uint32_t s[8];
    memcpy(s, state_, sizeof s);
    for (size_t i = 0; i < 64; ++i) {
      const uint32_t high = turn(s[4], 6) ^ turn(s[4], 11) ^ turn(s[4], 25);
      const uint32_t choice = (s[4] & s[5]) ^ (~s[4] & s[6]);
      const uint32_t first = s[7] + high + choice + kConstants[i] + w[i];
      const uint32_t low = turn(s[0], 2) ^ turn(s[0], 13) ^ turn(s[0], 22);
      const uint32_t majority = (s[0] & s[1]) ^ (s[0] & s[2]) ^ (s[1] & s[2]);
      memmove(s + 1, s, 7 * sizeof s[0]);
      s[4] += first;
      s[0] = first + low + majority;
    }
    for (size_t i = 0; i < 8; ++i) state_[i] += s[i];
    filled_ = 0;
  }

  // Likewise of the square roots of the first 8 primes (section 5.3.3).
  uint32_t state_[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                        0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  unsigned char block_[64] = {};
  size_t filled_ = 0;
  uint64_t total_ = 0;
};

}  // namespace optile::base
