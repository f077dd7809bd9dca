// A set of small numbers that is emptied at once: it remembers when each was added.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace optile::placement {

class IdSet {
 public:
  explicit IdSet(std::size_t size) : added_(size, 0) {}

  void clear() { ++now_; }
  bool contains(std::size_t id) const { return added_[id] == now_; }
  // Whether it was not there.
  bool insert(std::size_t id) {
    if (contains(id)) return false;
    added_[id] = now_;
    return true;
  }

 private:
  std::vector<std::uint32_t> added_;
  std::uint32_t now_ = 1;
};

}  // namespace optile::placement
