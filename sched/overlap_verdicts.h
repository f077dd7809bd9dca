// What was found of two programs that shared cores. Plain values.
#pragma once

#include <compare>
#include <cstdint>
#include <string>

namespace optile::sched {

// Which cores the two share. One is the guest of the other, on half of its cores or on all; or both
// may use all that either has.
enum class OverlapShape : uint8_t { kHalf, kWhole, kBoth };
const char* shape_name(OverlapShape shape);

struct OverlapKey {
  std::string guest;  // kBoth: the lesser text of the two
  std::string host;
  OverlapShape shape = OverlapShape::kWhole;

  auto operator<=>(const OverlapKey&) const = default;
};

struct OverlapVerdict {
  OverlapKey key;
  bool pays = false;
  double gain = 0;  // of the weighted progress of the two; with its interval
  double low = 0;
  double high = 0;
  int rounds = 0;
  std::string why{};  // half a sentence
};

}  // namespace optile::sched
