// What must hold of every simulated step, whoever decided it.
#pragma once

#include <gtest/gtest.h>

#include <vector>

#include "sched/simulation/step_simulator.h"

namespace optile::sched {

inline constexpr double kSameSeconds = 1e-9;

inline void expect_lawful(const StepOutline& outline, const StepOutcome& step) {
  const auto& graph = *outline.graph;
  std::vector<const StepSpan*> span_of(graph.nodes.size(), nullptr);
  for (const StepSpan& span : step.spans) {
    auto& place = span_of[static_cast<std::size_t>(span.node)];
    EXPECT_EQ(place, nullptr) << "node " << span.node << " ran twice";
    place = &span;
    // Alone it takes its curve's time; beside others, on slow cores or after a change, longer.
    EXPECT_GE(span.end - span.start, span.alone_seconds + span.switching_seconds - kSameSeconds);
    EXPECT_LE(span.end, step.seconds + kSameSeconds);
    EXPECT_GE(span.start, 0.0);
  }
  for (std::size_t node = 0; node < graph.nodes.size(); ++node) {
    ASSERT_NE(span_of[node], nullptr) << "node " << node << " never ran";
    for (const int input : graph.nodes[node].inputs) {
      EXPECT_LE(span_of[static_cast<std::size_t>(input)]->end, span_of[node]->start + kSameSeconds);
    }
  }
  for (std::size_t i = 0; i < step.spans.size(); ++i) {
    const StepSpan& one = step.spans[i];
    for (std::size_t j = i + 1; j < step.spans.size(); ++j) {
      const StepSpan& other = step.spans[j];
      if (other.start >= one.end - kSameSeconds || one.start >= other.end - kSameSeconds) continue;
      EXPECT_NE(one.lane, other.lane);
      if (one.placement == other.placement && one.placement != Placement::kShared) {
        EXPECT_FALSE(one.cores.overlaps(other.cores)) << one.node << " and " << other.node;
      }
    }
  }
}

}  // namespace optile::sched
