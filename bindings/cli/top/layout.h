// The whole picture: head, map of the cores, table of the clients, last changes of leases, and a
// bottom line. Fits any size: what matters less goes first. Pure.
#pragma once

#include <string>
#include <vector>

#include "bindings/cli/top/interaction.h"
#include "bindings/cli/top/letters.h"
#include "bindings/cli/top/picture.h"
#include "bindings/cli/top/snapshot.h"

namespace optile::cli {

struct Scene {
  Snapshot seen;  // the last that the daemon told
  Letters letters;
  std::string unreachable;  // not empty: what is seen is old, and why
};

struct Size {
  int columns = 80;
  int rows = 24;
};

// Exactly `size.rows` lines of at most `size.columns` columns.
Picture draw(const Scene& scene, const Interaction& interaction, Size size);

// For files and pipes: as many lines as it takes, every text whole; only the map is broken.
inline constexpr int kPlainColumns = 100;
std::string plain_picture(const Scene& scene);

}  // namespace optile::cli
