// A time that never comes: of what cannot run, and the start of a search for the least.
#pragma once

#include <limits>

namespace optile::placement {

inline constexpr double kInfinity = std::numeric_limits<double>::infinity();

}  // namespace optile::placement
