#include "perfmodel/synthetic/fixed_team.h"

#include <cstddef>

namespace optile::perfmodel {

std::vector<double> fixed_team_times(int threads, int most) {
  std::vector<double> times;
  if (threads <= 0 || most <= 0) return times;
  times.reserve(static_cast<std::size_t>(most));
  for (int cores = 1; cores <= most; ++cores) {
    const int parts = (threads + cores - 1) / cores;  // on the core that has most
    times.push_back(parts);
  }
  return times;
}

}  // namespace optile::perfmodel
