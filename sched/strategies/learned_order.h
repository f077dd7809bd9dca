// Who waits for whom in a step whose graph is not given: learnt from the order in which its nodes
// become ready and end. A node that becomes ready waited for the one that ended last before; one
// that is ready before another ends never waited for it. (Ours; the papers have the graph.) One
// thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace optile::sched {

class LearnedOrder {
 public:
  static constexpr std::size_t kMostInputs = 4;  // that are remembered of one node

  // Nodes are numbered from 0, and are the same ones in every step.
  explicit LearnedOrder(std::size_t nodes);

  void begin_step();
  void on_ready(int node);
  void on_finished(int node);

  // Seconds from each node's start to the end of the longest chain behind it, in the step that was
  // seen last, with these seconds of each node. One that was not in that step has its own seconds.
  std::vector<double> urgency(const std::vector<double>& seconds) const;
  // What `node` is taken to wait for.
  std::vector<int> inputs(int node) const;

 private:
  struct Input {
    int node = -1;
    std::uint32_t steps = 0;  // in which it was the last to end
  };
  using Inputs = std::array<Input, kMostInputs>;

  bool has_ended(int node) const;
  void add_input(int node, int input);

  std::vector<Inputs> inputs_;        // by node
  std::vector<std::uint32_t> ended_;  // by node: the step in which it ended last
  std::vector<int> order_;            // of this step's nodes, as they became ready
  std::uint32_t step_ = 1;
  int latest_ = -1;  // to end in this step
};

}  // namespace optile::sched
