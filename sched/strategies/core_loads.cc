#include "sched/strategies/core_loads.h"

#include <algorithm>

#include "base/at.h"

namespace optile::sched {

using base::at;

CoreLoads::CoreLoads(int cores) : loads_(at(cores), 0) {}

void CoreLoads::clear() {
  std::fill(loads_.begin(), loads_.end(), 0);
}

void CoreLoads::add(const CoreSet& cores, int threads) {
  cores.each([&](int slot) { loads_[at(slot)] += threads; });
}

CoreSet CoreLoads::least_loaded(int width) const {
  CoreSet cores;
  const auto [least, most] = std::minmax_element(loads_.begin(), loads_.end());
  for (int load = *least; load <= *most && width > 0; ++load) {
    for (int slot = 0; slot < static_cast<int>(loads_.size()) && width > 0; ++slot) {
      if (loads_[at(slot)] != load) continue;
      cores.add(slot);
      --width;
    }
  }
  return cores;
}

}  // namespace optile::sched
