// The ops that run now, as a strategy sees them: until when by prediction, on which cores, and
// beside whom they have been. Owned by one strategy; one thread.
#pragma once

#include <cstdint>
#include <vector>

#include "sched/strategies/interference_memory.h"
#include "sched/strategies/step_strategy.h"

namespace optile::sched {

struct RunningOp {
  int node = 0;
  int instance = 0;
  double start = 0;
  double predicted_seconds = 0;
  Placement placement = Placement::kOwnCores;
  CoreSet cores;
  // Beside whom it has been longest, of those that are gone; -1: beside nobody.
  int partner = -1;
  double beside_seconds = 0;
};

// From which factor on a run counts as disturbed. The paper's own good pair lost 25 and 17 % on
// cores of their own (Table III); two ops on one hardware core lose by less than half only where
// the hardware threads bring more than nothing.
struct DisturbedFrom {
  double own_cores = 1.5;
  double siblings = 2.0;
};

class RunningOps {
 public:
  explicit RunningOps(DisturbedFrom limits = {}) : limits_(limits) {}

  // `memory` is told who runs.
  void clear(InterferenceMemory* memory);
  void add(const Launch& launch, int instance, double now, InterferenceMemory* memory);
  // Removes it and says what it was. Where it was disturbed, the pair is recorded.
  RunningOp finish(int node, double now, InterferenceMemory* memory);

  bool empty() const { return ops_.empty(); }
  const std::vector<RunningOp>& ops() const { return ops_; }
  // Until the last of those with cores of their own is predicted to end; 0 when all are late.
  double longest_remaining(double now) const;
  std::uint64_t fingerprint() const { return fingerprint_; }  // of which nodes run, in any order

 private:
  DisturbedFrom limits_;
  std::vector<RunningOp> ops_;
  std::uint64_t fingerprint_ = 0;
};

std::uint64_t node_fingerprint(int node);

}  // namespace optile::sched
