#include "perfmodel/synthetic/interference.h"

#include <algorithm>
#include <cmath>

namespace optile::perfmodel {

Interference Interference::none() {
  Interference model;
  model.contention = 0;
  model.tile_sharing = 0;
  model.two_threads_gain = 2;
  model.crowding = 0;
  model.team_crowding = 0;
  model.node_crossing = 0;
  return model;
}

double Interference::slowdown(const Presence& op, double total_draw) const {
  const double others = std::max(0.0, total_draw - op.draw);
  double factor = 1.0 + contention * op.memory_share * others;
  factor *= 1.0 + tile_sharing * op.memory_share * op.shared_tiles;
  if (op.crosses_nodes) factor *= 1.0 + node_crossing * op.memory_share;
  const int own = std::max(1, op.threads_per_core);
  const int all = std::max(own, op.threads_on_cores);
  if (own > 1) factor *= std::pow(own, team_crowding);
  if (all > own) {
    // What the core gets done, of which this op has the share of its threads.
    const double done = two_threads_gain * std::pow(2.0 / all, crowding);
    factor *= std::max(1.0, static_cast<double>(all) / own / done);
  }
  return factor;
}

double memory_draw(double memory_share, double fastest_seconds, double seconds) {
  return seconds > 0 ? memory_share * std::min(1.0, fastest_seconds / seconds) : 0.0;
}

}  // namespace optile::perfmodel
