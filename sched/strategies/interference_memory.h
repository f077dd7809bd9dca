// Which instances are not to run side by side again: pairs of which one took much longer than
// predicted while the other ran (III-D of the paper, "record the pair"). Owned by one strategy; one
// thread.
#pragma once

#include <cstddef>
#include <vector>

namespace optile::sched {

class InterferenceMemory {
 public:
  explicit InterferenceMemory(std::size_t instances) : foes_(instances) {}

  void record(int one, int other);
  bool known(int one, int other) const;
  std::size_t pairs() const { return pairs_; }

 private:
  std::vector<std::vector<int>> foes_;  // by instance, ascending; most are empty
  std::size_t pairs_ = 0;
};

}  // namespace optile::sched
