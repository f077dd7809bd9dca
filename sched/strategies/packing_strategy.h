// Strategy 3 (III-D): ready ops beside those that run. Each ready op has its three fastest cases as
// candidates; a candidate may start if it fits the idle cores and does not outlast what runs; among
// those, the one that leaves most cores idle. When nothing fits and nothing runs, the slowest ready
// op at its plan's case. Strategy 4 on top: when one op holds every core, the ready op with the
// shortest serial time on the second hardware threads.
//
// What the paper leaves open is decided so: "what is running" ends with the last of the running ops
// that have cores of their own; of candidates that leave equally many cores idle the longer one
// wins, then the op that has been ready longer; one op at a time sits on hardware threads.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "sched/cores/core_pool.h"
#include "sched/strategies/decision_memory.h"
#include "sched/strategies/interference_memory.h"
#include "sched/strategies/running_ops.h"
#include "sched/strategies/step_outline.h"
#include "sched/strategies/step_strategy.h"

namespace optile::sched {

struct PackingOptions {
  WidthRule plan = WidthRule::kPerOp;
  bool fill_siblings = false;  // strategy 4
};

class PackingStrategy : public StepStrategy {
 public:
  // A candidate whose width differs from the plan's by more is replaced by the plan's case.
  static constexpr int kWidthTolerance = 2;

  PackingStrategy(const StepOutline& outline, PackingOptions options);

  void begin_step() override;
  void on_ready(int node) override;
  void on_finished(int node, double now) override;
  void decide(double now, std::vector<Launch>* launches) override;
  std::string description() const override;

  const InterferenceMemory& memory() const { return memory_; }
  // What its decisions took so far.
  struct Effort {
    std::uint64_t remembered = 0;  // decisions taken from memory
    std::uint64_t weighed = 0;     // ready ops looked at for a decision
  };
  const Effort& effort() const { return effort_; }

 private:
  struct Choice {
    int node = -1;  // -1: nothing is to start
    TimedCase timed;
  };

  // The candidates of an instance after the tolerance.
  struct Menu {
    std::array<TimedCase, InstanceOutline::kCandidates> candidates;
    std::size_t count = 0;
  };
  // What every candidate needs at least: most ready ops are passed over by that.
  struct Needs {
    int width = 0;
    double seconds = 0;
  };
  struct ReadyOp {
    Needs least;
    int node = 0;
    int turn = 0;  // how many became ready before it in this step
  };

  Menu menu_of(const InstanceOutline& instance) const;
  Choice choose_beside(double now);
  Choice weigh_all(double now);
  Choice slowest_ready() const;
  std::optional<Launch> fill();
  const CoreSet& siblings_of(int instance);
  int instance_of(int node) const { return outline_.instance_of[static_cast<std::size_t>(node)]; }
  // The wider first, so that what a decision takes is near the end and cheap to take out.
  static bool before(const ReadyOp& one, const ReadyOp& other);
  std::vector<ReadyOp>::const_iterator place_of(int node) const;  // end: it is not ready
  void start(const Launch& launch, double now, std::vector<Launch>* launches);

  const StepOutline& outline_;
  PackingOptions options_;
  CorePool pool_;
  RunningOps running_;
  InterferenceMemory memory_;
  std::vector<Menu> menus_;        // by instance
  std::vector<Needs> least_;       // by instance
  std::vector<CoreSet> siblings_;  // by instance: where strategy 4 puts it; empty: not yet asked
  std::vector<ReadyOp> ready_;     // in the order of before()
  std::vector<int> turns_;         // by node, of those that became ready in this step
  int next_turn_ = 0;
  std::uint64_t ready_fingerprint_ = 0;
  // What was decided in a situation: these nodes ready, those running.
  DecisionMemory<Choice> decisions_;
  Effort effort_;
};

}  // namespace optile::sched
