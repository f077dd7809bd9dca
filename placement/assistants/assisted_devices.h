// The devices of one program, each with its assistant, as whoever has the samples of all runs them.
// Hand-overs are proposals until the program says what it runs: until then a device is taken to use
// so much less, or more, as what it has handed over, or taken, asks for. Pure; of one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "placement/assistants/assistant.h"
#include "placement/assistants/out_boxes.h"

namespace optile::placement {

// What the program runs, and where.
struct PlacedNode {
  AssistantDevice owner = 0;
  Resource bound = Resource::kCompute;
  double demand = 0;       // of the owner's use of `bound`, 1 = all of it
  std::int64_t bytes = 0;  // of state
};

class AssistedDevices {
 public:
  explicit AssistedDevices(std::size_t devices) : devices_(devices) {}

  // The program runs this from now on, and the rules are these; each time the same number of nodes.
  // One that moved stays for the cool-down of its resource's rule, and where `declined` one that
  // was to move, too.
  void begin(std::vector<AssistantRule> rules, const std::vector<PlacedNode>& nodes,
             bool declined = false);
  // These steps are over, in which each device measured this sample of what the program runs.
  // Returns what was proposed since the last call.
  std::vector<Handover> add(const std::vector<AssistantSample>& samples, int steps);

  // Of each node, hand-overs that are proposed included.
  const std::vector<AssistantDevice>& owners() const { return owners_; }

 private:
  std::vector<AssistantSample> expected(const std::vector<AssistantSample>& samples) const;
  std::vector<Handover> begin_step();

  std::size_t devices_;
  std::vector<AssistantRule> rules_;
  std::uint64_t epoch_ = 0;
  std::vector<PlacedNode> nodes_;  // as the program runs them
  std::vector<std::uint64_t> stays_until_;
  std::vector<AssistantDevice> owners_;
  std::vector<Assistant> assistants_;
  LocalOutBoxes boxes_;
};

}  // namespace optile::placement
