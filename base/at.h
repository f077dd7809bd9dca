// Ids and positions are int, where none is -1; containers count in std::size_t.
#pragma once

#include <cstddef>

namespace optile::base {

// Of an id or a position that is not negative.
constexpr std::size_t at(int id) {
  return static_cast<std::size_t>(id);
}

}  // namespace optile::base
