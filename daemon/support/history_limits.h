// How much is remembered of clients that have left. Plain numbers.
#pragma once

#include <cstddef>

namespace optile::daemon {

// For reports. The oldest is forgotten.
inline constexpr std::size_t kMaxFinished = 64;
// Ops of all that are remembered; a client may register thousands with long names. The one that
// left last is kept in any case.
inline constexpr std::size_t kMaxFinishedOps = 16384;

}  // namespace optile::daemon
