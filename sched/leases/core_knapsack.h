// Which number of cores for each row so that the sum of worths is greatest and the sum of cores
// within a limit: a knapsack with one choice per row. Called by the lease allocation. Pure; any
// thread.
#pragma once

#include <cstdint>
#include <vector>

namespace optile::sched {

// worth[k] is what `least + k` cores are worth; at least one element, all finite. Need not be
// concave nor rise.
struct KnapsackRow {
  int least = 0;
  std::vector<double> worth;
};

struct KnapsackChoice {
  std::vector<int> cores;  // one for each row
  double worth = 0;
  double bound = 0;         // no choice is worth more than this
  bool exact = true;        // worth is the greatest there is
  uint64_t operations = 0;  // inner steps that were made, for tests and metrics
};

// The sum of `least` must be within `cores`. Concave hulls and a multiplier give a good choice and
// a bound; the bound throws out nearly all other choices, and dynamic programming settles exactly
// what is left. Where that would take more than `most_operations`, the good choice is improved by
// exchanges between pairs of rows instead, and `bound` tells how far from the best it is at most.
KnapsackChoice choose_cores(const std::vector<KnapsackRow>& rows, int cores,
                            uint64_t most_operations);

}  // namespace optile::sched
