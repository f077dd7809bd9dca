// The allocation policy in use: the most weighted progress. Pure; any thread.
#pragma once

#include <cstdint>

#include "sched/leases/allocation_policy.h"

namespace optile::sched {

// When a change pays. The defaults are careful guesses, not measurements.
struct ProgressThresholds {
  double least_gain = 0.02;  // of the weighted progress of those it changes, beyond the price
  double moving_seconds_per_core = 0.001;  // of its progress that a client loses per core moved
  double horizon_seconds = 1.0;            // over which that price is spread
  double nothing = 0.002;    // of the normal clients' progress: what batch clients may cost them
  double batch_turn = 0.25;  // weight of a batch client's turn on a shared core, next to a normal's
  uint64_t most_operations = 2'000'000;  // exact below, near-exact beyond
};

// The most weighted progress. Waiting clients are first counted as awake, which gives the claims;
// what they hold is then lent to those that gain most, and nobody gets less than its claim for
// that, so that a client that wakes takes back its own and disturbs no other.
class ProgressPolicy final : public AllocationPolicy {
 public:
  explicit ProgressPolicy(ProgressThresholds thresholds = {}) : thresholds_(thresholds) {}
  Allocation allocate(const AllocationProblem& problem) const override;
  double turn_weight(const LeaseDemand& demand) const override;

 private:
  ProgressThresholds thresholds_;
};

}  // namespace optile::sched
