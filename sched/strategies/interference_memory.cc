#include "sched/strategies/interference_memory.h"

#include <algorithm>

#include "base/at.h"

namespace optile::sched {
namespace {

using base::at;

}  // namespace

void InterferenceMemory::record(int one, int other) {
  if (known(one, other)) return;
  const auto add = [this](int to, int foe) {
    auto& list = foes_[at(to)];
    list.insert(std::lower_bound(list.begin(), list.end(), foe), foe);
  };
  add(one, other);
  foes_running_[at(one)] += running_[at(other)];
  if (one != other) {
    add(other, one);
    foes_running_[at(other)] += running_[at(one)];
  }
  ++pairs_;
}

void InterferenceMemory::count(int instance, int by) {
  running_[at(instance)] += by;
  for (const int foe : foes_[at(instance)]) foes_running_[at(foe)] += by;
}

void InterferenceMemory::started(int instance) {
  count(instance, 1);
}

void InterferenceMemory::ended(int instance) {
  count(instance, -1);
}

void InterferenceMemory::nothing_runs() {
  std::fill(running_.begin(), running_.end(), 0);
  std::fill(foes_running_.begin(), foes_running_.end(), 0);
}

bool InterferenceMemory::known(int one, int other) const {
  const auto& list = foes_[at(one)];
  return !list.empty() && std::binary_search(list.begin(), list.end(), other);
}

}  // namespace optile::sched
