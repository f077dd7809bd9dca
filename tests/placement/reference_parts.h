// What the second evaluators have in common.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>

namespace optile::placement {

inline constexpr double kNever = std::numeric_limits<double>::infinity();

inline std::size_t at(std::int32_t id) {
  return static_cast<std::size_t>(id);
}

}  // namespace optile::placement
