// How many programs a daemon serves at once.
#pragma once

#include <cstddef>

namespace optile::daemon {

// Unless it is said otherwise. Further ones are refused with a reason and run untuned. A thousand
// that start together are one user's part of them.
inline constexpr std::size_t kMaxClients = 1280;

// Of so many places, one user's, where there are several: a start storm of one leaves the others
// room.
constexpr std::size_t client_limit_per_user(std::size_t all) {
  return all < 5 ? 1 : all / 5 * 4;
}

}  // namespace optile::daemon
