// What a fuzz target is: one function over bytes that somebody else wrote, and a few inputs to
// start from. The same object is run by short_round.cc in every test run and by clang's libFuzzer
// for as long as one likes (./dev fuzz).
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size);

namespace optile::fuzz {

// Valid inputs, from which mutation starts. Made by code: nothing to keep in step by hand.
std::vector<std::string> seeds();

// What must hold whatever the input is. Ends the process, as a fuzzer expects.
inline void require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "does not hold: %s\n", what);
  std::abort();
}

// Takes an input apart from its front; past the end everything is 0.
class Bytes {
 public:
  Bytes(const uint8_t* data, std::size_t size) : data_(data), size_(size) {}

  bool empty() const { return size_ == 0; }
  template <typename T>
  T take() {
    T value{};
    const std::size_t count = size_ < sizeof value ? size_ : sizeof value;
    if (count > 0) std::memcpy(&value, data_, count);
    skip(count);
    return value;
  }
  std::string text(std::size_t most) {
    const std::size_t count = size_ < most ? size_ : most;
    std::string text(reinterpret_cast<const char*>(data_), count);
    skip(count);
    return text;
  }

 private:
  void skip(std::size_t count) {
    data_ += count;
    size_ -= count;
  }
  const uint8_t* data_;
  std::size_t size_;
};

// The other direction, for seeds.
class Script {
 public:
  template <typename T>
  Script& put(T value) {
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof value);
    return *this;
  }
  Script& text(const std::string& text) {
    bytes_ += text;
    return *this;
  }
  const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
};

}  // namespace optile::fuzz
