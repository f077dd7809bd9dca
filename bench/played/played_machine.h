// The described machine that played kernels compute on: which run now, how far each is, beside the
// others as the simulator's formulas have it (sched/simulation/running_set.h). Has no clock: who
// calls it says what time it is. Not shared between threads.
#pragma once

#include <set>
#include <vector>

#include "bench/played/kernel_times.h"
#include "sched/cores/core_map.h"
#include "sched/simulation/running_set.h"
#include "sched/strategies/core_loads.h"

namespace optile::bench {

class PlayedMachine {
 public:
  // `map` outlives it.
  explicit PlayedMachine(const sched::CoreMap& map);

  // A kernel begins; the answer is its number. `now`: seconds of the machine, never earlier than
  // what was said before.
  int begin(const KernelTimes& kernel, int width, double now);
  void advance(double now);
  bool is_running(int number) const { return running_numbers_.contains(number); }
  // Of one that is done: when it was.
  double end_of(int number) const { return kernels_[static_cast<std::size_t>(number)].end; }
  // When the next of them ends if no other begins; infinity where none runs.
  double next_end();

  // Seconds that threads computed, all of them together.
  double thread_seconds() const { return thread_seconds_; }
  int begun() const { return static_cast<int>(kernels_.size()); }
  // Kernels that run, the one that begins or ends included, over begins and ends.
  double corunning_mean() const;

 private:
  struct Played {
    int width = 0;
    int threads_per_core = 1;
    double end = 0;
    sched::CoreSet cores;
  };

  void end(const sched::EndedOp& op);

  const sched::CoreMap* map_;
  sched::RunningSet running_;
  sched::CoreLoads loads_;
  std::vector<Played> kernels_;  // by number
  std::set<int> running_numbers_;
  int threads_ = 0;  // of those that run
  double now_ = 0;
  double thread_seconds_ = 0;
  double corunning_sum_ = 0;
  int events_ = 0;
};

}  // namespace optile::bench
