// Strategies 3 and 4, and ours, over an executor that runs: it says which op has become ready to
// start and which has ended, in whatever order its graph makes, and is told which may start now and
// how wide. The graph itself is not known. An op place of the step is a row of the problem;
// executions of one place within a step are told apart by their number, so that a node is the same
// one in every step. (III-D of the concurrency control paper.) One thread at a time.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "perfmodel/profile/switching_cost.h"
#include "sched/cores/core_map.h"
#include "sched/strategies/step_outline.h"
#include "sched/strategies/step_strategy.h"

namespace optile::sched {

struct WidthSeconds {
  int width = 0;
  double seconds = 0;
};

// An op place of the step.
struct AdmittedPlace {
  int op = 0;                        // places of one op have one number, for strategy 2
  int per_step = 1;                  // executions in a step
  std::vector<WidthSeconds> widths;  // that it may run at, with its time alone; not empty
};

enum class AdmissionRule {
  kPack,      // strategy 3
  kFill,      // strategies 3 and 4
  kLookAhead  // ours; who waits for whom is learnt
};

struct AdmissionProblem {
  int cores = 1;
  int hardware_threads = 1;  // of every core
  AdmissionRule rule = AdmissionRule::kPack;
  WidthRule plan = WidthRule::kPerInstance;
  std::vector<AdmittedPlace> places;
};

class StepAdmission {
 public:
  static constexpr std::size_t kMostNodes = 1U << 15;

  // Null for a problem that cannot be scheduled: no cores or more than kMaxCores, no place, a place
  // without a width between 1 and the cores, a time that is not positive, too many executions.
  static std::unique_ptr<StepAdmission> make(const AdmissionProblem& problem);

  void begin_step();
  // One execution of a place is ready. Its node; nullopt: the step has no such place, or had all
  // its executions: it is not scheduled.
  std::optional<int> on_ready(std::size_t place);
  // A node that was launched in this step has ended, `now` seconds after the step began.
  void on_finished(int node, double now);
  // As StepStrategy::decide(): where nothing runs and something is ready, at least one launch.
  void decide(double now, std::vector<Launch>* launches);

 private:
  StepAdmission() = default;

  CoreMap map_;
  perfmodel::SwitchingCost switching_;
  perfmodel::StepGraph graph_;
  StepOutline outline_;
  std::unique_ptr<StepStrategy> strategy_;
  std::vector<int> first_node_;  // by place, and one more
  std::vector<int> ready_;       // by place: executions in this step so far
};

}  // namespace optile::sched
