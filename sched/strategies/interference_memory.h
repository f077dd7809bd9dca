// Which instances are not to run side by side again: pairs of which one took much longer than
// predicted while the other ran (III-D of the paper, "record the pair"). Owned by one strategy; one
// thread.
#pragma once

#include <cstddef>
#include <vector>

namespace optile::sched {

class InterferenceMemory {
 public:
  explicit InterferenceMemory(std::size_t instances)
      : foes_(instances), running_(instances, 0), foes_running_(instances, 0) {}

  void record(int one, int other);
  bool known(int one, int other) const;
  std::size_t pairs() const { return pairs_; }

  // What runs now is kept count of, so that asking about a ready op costs the same beside many.
  void started(int instance);
  void ended(int instance);
  void nothing_runs();  // as at the beginning of a step
  bool beside_foe(int instance) const {
    return foes_running_[static_cast<std::size_t>(instance)] > 0;
  }

 private:
  void count(int instance, int by);

  std::vector<std::vector<int>> foes_;  // by instance, ascending; most are empty
  std::vector<int> running_;            // by instance: how many of it run
  std::vector<int> foes_running_;       // by instance: how many of its foes run
  std::size_t pairs_ = 0;
};

}  // namespace optile::sched
