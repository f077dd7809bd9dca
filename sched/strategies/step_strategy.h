// Who runs next, on how many and which cores, within one step of a graph: the interface that every
// strategy has and that a scheduler drives, be it the simulator or one that runs ops. Events in,
// decisions out: a strategy has no clock and starts nothing itself. One thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "perfmodel/profile/configuration.h"
#include "sched/cores/core_set.h"

namespace optile::sched {

enum class Placement : std::uint8_t {
  kOwnCores,  // nobody else has a thread on these cores
  kSiblings,  // on the second hardware thread of cores that another op has
  kShared,    // as uniform settings without binding leave it: the kernel puts threads where it can
};

struct Launch {
  int node = 0;
  // The width may exceed the cores under kShared alone: then every core has several threads of it.
  perfmodel::Configuration which;
  CoreSet cores;
  Placement placement = Placement::kOwnCores;
  double predicted_seconds = 0;  // alone on the machine
};

class StepStrategy {
 public:
  virtual ~StepStrategy() = default;

  // A step begins: nothing runs, nothing is ready. What was learnt in earlier steps stays.
  virtual void begin_step() = 0;
  // The inputs of this node are there. Each node once a step.
  virtual void on_ready(int node) = 0;
  // A node that was launched has finished, `now` seconds after the step began; never earlier than
  // the last event.
  virtual void on_finished(int node, double now) = 0;
  // Appends what is to be started now. To be called after the events of a moment; when nothing runs
  // and something is ready, at least one launch comes.
  virtual void decide(double now, std::vector<Launch>* launches) = 0;

  // What it would say about itself in one line: "inter-op 4, intra-op 16".
  virtual std::string description() const = 0;
};

}  // namespace optile::sched
