#include "sched/strategies/interference_memory.h"

#include <algorithm>

namespace optile::sched {

void InterferenceMemory::record(int one, int other) {
  if (known(one, other)) return;
  const auto add = [this](int to, int foe) {
    auto& list = foes_[static_cast<std::size_t>(to)];
    list.insert(std::lower_bound(list.begin(), list.end(), foe), foe);
  };
  add(one, other);
  if (one != other) add(other, one);
  ++pairs_;
}

bool InterferenceMemory::known(int one, int other) const {
  const auto& list = foes_[static_cast<std::size_t>(one)];
  return !list.empty() && std::binary_search(list.begin(), list.end(), other);
}

}  // namespace optile::sched
