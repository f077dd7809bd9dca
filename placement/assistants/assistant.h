// The scheduling assistant of one device (Tavarageri et al.): a device whose resource is used above
// theta offers a node, one whose use is below gamma may take it. What the paper leaves open is
// decided here so that nothing swings:
// - a threshold counts only after `samples` steps on the same side of it (hysteresis);
// - the node offered fits half of the imbalance, unless the rule says otherwise, and the taker
//   stays below the owner by taking it, so that every hand-over lowers the sum of squared uses and
//   none can be undone by another;
// - a node that moved stays for `cool_down` steps;
// - an offer is withdrawn when its owner's use has been below theta for `samples` steps.
// A pure state machine: samples in, calls on the out-boxes out; no clock, no descriptor, no
// randomness. Of one thread.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "placement/assistants/out_boxes.h"

namespace optile::placement {

// Which of the nodes that fit is offered or taken.
enum class NodeChoice { kSmallestState, kLargestDemand };

// The rules are data; one for each resource that is watched.
struct AssistantRule {
  Resource resource = Resource::kCompute;
  double theta = 0.95;
  double gamma = 0.50;
  NodeChoice choice = NodeChoice::kSmallestState;
  int samples = 10;
  std::uint64_t cool_down = 50;  // in steps
  double margin = 0.02;          // what a taker stays below theta
  double largest = 0;            // demand that is offered; 0 = half of the use beyond gamma
};

struct AssistantNode {
  AssistantNodeId id = 0;
  Resource bound = Resource::kCompute;  // what limits it
  double demand = 0;
  std::int64_t bytes = 0;
  std::uint64_t stays_until = 0;  // the epoch at which its cool-down ends
};

// What a device measured over one step.
struct AssistantSample {
  std::array<double, kResources> use = {};  // 0 to 1
  std::int64_t free_bytes = 0;
};

class Assistant {
 public:
  Assistant(AssistantDevice device, std::vector<AssistantRule> rules,
            std::vector<AssistantNode> nodes);

  // At the boundary before step `epoch`: adopts and drops what was handed over, before the step
  // runs. Epochs only grow.
  void begin_step(std::uint64_t epoch, OutBoxes& boxes);
  // After step `epoch`, with what it measured: offers, withdraws or claims. A claim made here takes
  // effect at epoch + 1, for owner and taker alike.
  void end_step(std::uint64_t epoch, const AssistantSample& sample, OutBoxes& boxes);

  const std::vector<AssistantNode>& nodes() const { return nodes_; }

 private:
  struct Watch {
    int above = 0;  // steps in a row
    int below = 0;
    int calm = 0;  // below theta
    bool offering = false;
    AssistantNodeId offered = 0;
  };

  void offer(const AssistantRule& rule, Watch& watch, double use, std::uint64_t epoch,
             OutBoxes& boxes);
  void take(const AssistantRule& rule, Watch& watch, const AssistantSample& sample,
            std::uint64_t epoch, OutBoxes& boxes);

  AssistantDevice device_;
  std::vector<AssistantRule> rules_;
  std::vector<Watch> watches_;  // one for each rule
  std::vector<AssistantNode> nodes_;
};

}  // namespace optile::placement
