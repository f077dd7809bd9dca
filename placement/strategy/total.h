// Exact sums of 64-bit costs and usages. 50 million of the greatest stay far below 2^127.
#pragma once

#include <cmath>

namespace optile::placement {

__extension__ using Total = __int128;

inline constexpr Total kGreatestTotal = ((Total{1} << 126) - 1) * 2 + 1;

// The greatest double that is no larger.
inline double rounded_down(Total value) {
  const auto nearest = static_cast<double>(value);
  if (static_cast<Total>(nearest) <= value) return nearest;
  return std::nextafter(nearest, -INFINITY);
}

}  // namespace optile::placement
