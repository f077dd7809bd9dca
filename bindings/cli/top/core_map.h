// The cores of the machine as cells: a client's letter, in its colour; small where the core is lent
// to it; '*' several in turns; '.' nobody's; '-' not granted to the daemon. Cores stand by tile, in
// brackets where a tile has several, and by NUMA node. Pure.
#pragma once

#include <cstdint>

#include "bindings/cli/top/letters.h"
#include "bindings/cli/top/picture.h"
#include "bindings/cli/top/snapshot.h"

namespace optile::cli {

inline constexpr const char* kMapLegend =
    "A client  a lent to it  * in turns  . free  - not granted";

struct MapLimits {
  int columns = 80;
  int rows = 0;  // 0 = as many as it takes
};

// Roomy where that takes two rows at most, then closer, then without the brackets; what still does
// not fit is left out and counted in the last row. `selected`: stands out; 0 = none.
Picture core_map(const Snapshot& seen, const Letters& letters, uint64_t selected, MapLimits limits);

// The style of a client wherever it is drawn.
Style client_style(const Letters& letters, uint64_t client, bool selected);

}  // namespace optile::cli
