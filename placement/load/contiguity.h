// The order that contiguity is about: the forward pass between pieces of units, without cycles.
#pragma once

#include <vector>

#include "placement/units.h"

namespace optile::placement {

struct Pieces {
  std::vector<UnitId> of_unit;
  int count = 0;
  std::vector<std::vector<UnitId>> before;  // of each piece, in increasing order, each once
  std::vector<std::vector<UnitId>> after;
};

// Units with backward nodes alone go with the unit they exchange most with; units on a cycle are
// one piece.
Pieces forward_pieces(const Graph& graph, const Units& units);

}  // namespace optile::placement
