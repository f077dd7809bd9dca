// How many threads each core has while nothing binds them, and where the kernel of the system would
// put more. Not shared between threads.
#pragma once

#include <vector>

#include "sched/cores/core_set.h"

namespace optile::sched {

class CoreLoads {
 public:
  explicit CoreLoads(int cores);

  void clear();
  // So many threads on each of them.
  void add(const CoreSet& cores, int threads);
  void remove(const CoreSet& cores, int threads) { add(cores, -threads); }
  // The cores with the fewest threads, the first of equals. `width`: at most as many as there are.
  CoreSet least_loaded(int width) const;

 private:
  std::vector<int> loads_;  // by slot
};

}  // namespace optile::sched
