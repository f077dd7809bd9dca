// Windows of a core, of between 2^4 and 2^12 nodes, some of them all nodes. Of one thread.
#pragma once

#include <cstdint>
#include <random>
#include <vector>

#include "placement/id_set.h"
#include "placement/strategy/core.h"

namespace optile::placement {

inline constexpr std::size_t kSmallCore = 3000;  // nodes: it affords exactness

class SearchWindows {
 public:
  using Nodes = std::vector<std::uint32_t>;

  // The core must outlive it.
  explicit SearchWindows(const Core& core);

  const Nodes& all() const { return all_; }
  Nodes pick(std::mt19937_64& random);
  std::size_t pick_size(std::mt19937_64& random) const;
  // Breadth first with a random order of neighbours, so that what is around one node is connected.
  Nodes around(Nodes nodes, std::size_t size, std::mt19937_64& random);

 private:
  const Core& core_;
  Nodes all_;
  IdSet seen_;
};

}  // namespace optile::placement
