// Discrete events over one step of a graph: a strategy decides, ops run as fast as their curves and
// their neighbours let them, and time passes from one end to the next. Knows the strategies by
// their interface alone. Not shared between threads; everything it refers to outlives it.
#pragma once

#include <cstdint>
#include <vector>

#include "base/result.h"
#include "perfmodel/profile/switching_cost.h"
#include "perfmodel/synthetic/interference.h"
#include "perfmodel/synthetic/noise.h"
#include "sched/cores/lane_table.h"
#include "sched/simulation/running_set.h"
#include "sched/strategies/step_outline.h"
#include "sched/strategies/step_strategy.h"

namespace optile::sched {

// What the simulated machine is like beyond the op's curves.
struct StepConditions {
  perfmodel::Interference interference;
  perfmodel::SwitchingCost switching = perfmodel::SwitchingCost();
  perfmodel::Noise noise;
};

// One op of a simulated step.
struct StepSpan {
  int node = 0;
  int lane = 0;
  double start = 0;  // seconds since the step began
  double end = 0;
  double alone_seconds = 0;      // its curve's time, with noise
  double switching_seconds = 0;  // before it, to change the lane's team
  perfmodel::Configuration which;
  Placement placement = Placement::kOwnCores;
  CoreSet cores;
};

struct StepOutcome {
  double seconds = 0;
  double corunning_mean = 0;  // ops that run, the one in question too, over launches and finishes
  double utilisation = 0;  // of the cores, over time; hardware threads beyond the first not counted
  std::uint64_t events = 0;     // launches and finishes
  std::vector<StepSpan> spans;  // in the order of the launches
};

class StepSimulator {
 public:
  StepSimulator(const StepOutline& outline, const StepConditions& conditions);

  // One step. Lanes keep their teams, the strategy what it learnt; `step` chooses the noise. Fails
  // only when the strategy breaks its contract: a node that is not ready, cores that are another
  // op's, or nothing started although something is ready and nothing runs.
  base::Result<StepOutcome> run(StepStrategy* strategy, std::uint64_t step);

  // A step that takes longer ends there, with infinite seconds and nothing else worth reading: for
  // searches that only want to know who is fastest.
  void give_up_after(double seconds) { limit_ = seconds; }

 private:
  void reset();
  base::Status launch(const Launch& launch, std::uint64_t step);
  base::Status check(const Launch& launch) const;
  void finish(const EndedOp& op, StepStrategy* strategy);

  const StepOutline& outline_;
  const StepConditions& conditions_;
  RunningSet running_;
  LaneTable lanes_;
  double limit_ = perfmodel::kInfinity;
  std::vector<double> draw_reference_;  // by instance: seconds at its fastest case
  // Of the step in hand.
  std::vector<int> missing_;  // inputs, by node; -1: launched
  StepOutcome outcome_;
  double now_ = 0;
  double core_seconds_ = 0;
  std::uint64_t corunning_sum_ = 0;
  std::size_t finished_ = 0;
  int shared_ = 0;  // running ops whose threads nothing binds
};

// Steps until the strategy has learnt, then one that counts: `warm_up` of them first.
base::Result<StepOutcome> simulate_steps(const StepOutline& outline,
                                         const StepConditions& conditions, int warm_up,
                                         StepStrategy* strategy);

}  // namespace optile::sched
