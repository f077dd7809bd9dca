// What a strategy looks up about a step, worked out once from the graph and the curves, so that a
// decision costs no search: strategies 1 and 2 as plans, strategy 3's candidates, who waits for
// whom. Immutable once built; any thread. (III-D of the paper.)
#pragma once

#include <array>
#include <cstddef>
#include <vector>

#include "perfmodel/synthetic/step_graph.h"
#include "sched/cores/core_map.h"

namespace optile::sched {

struct TimedCase {
  perfmodel::Configuration which;
  double seconds = 0;
};

// Which plan a strategy takes for granted.
enum class WidthRule {
  kPerInstance,  // strategy 1: every instance at its own best case
  kPerOp,        // strategy 2: all instances of an op at the best case of the slowest of them
};

struct InstanceOutline {
  static constexpr std::size_t kCandidates = 3;

  bool tunable = true;
  TimedCase best;
  TimedCase per_op;
  double serial_seconds = 0;                   // at width 1
  std::array<TimedCase, kCandidates> fastest;  // `fastest_count` of them, the fastest first
  std::size_t fastest_count = 0;

  const TimedCase& plan(WidthRule rule) const {
    return rule == WidthRule::kPerInstance ? best : per_op;
  }
};

struct StepOutline {
  const perfmodel::StepGraph* graph = nullptr;  // outlives this
  const CoreMap* map = nullptr;                 // outlives this
  std::vector<InstanceOutline> instances;
  std::vector<int> instance_of;  // by node, side by side: decisions go through many
  // Users of node n: users[first_user[n]] … users[first_user[n + 1] - 1].
  std::vector<int> users;
  std::vector<int> first_user;
  std::vector<int> input_count;  // by node

  const InstanceOutline& of_node(int node) const {
    const int index = instance_of[static_cast<std::size_t>(node)];
    return instances[static_cast<std::size_t>(index)];
  }
};

// `graph` has passed check_step_graph() for the map's space. An op that is not tunable has one
// case: its default width (all cores where it says none), at most the cores.
StepOutline make_step_outline(const perfmodel::StepGraph& graph, const CoreMap& map);

// The fastest case of this width, or of all cores where that is fewer; with its time.
TimedCase timed_width(const perfmodel::ConfigurationTimes& times, int width, const CoreMap& map);

}  // namespace optile::sched
