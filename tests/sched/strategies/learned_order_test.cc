#include "sched/strategies/learned_order.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace optile::sched {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

TEST(LearnedOrder, KnowsNothingBeforeFirstStep) {
  const LearnedOrder order(3);
  EXPECT_THAT(order.inputs(1), IsEmpty());
  EXPECT_THAT(order.urgency({1, 2, 3}), ElementsAre(1, 2, 3));
}

// 0 → 1 → 3, 0 → 2.
TEST(LearnedOrder, TakesLastToEndForInput) {
  LearnedOrder order(4);
  order.begin_step();
  order.on_ready(0);
  order.on_finished(0);
  order.on_ready(1);
  order.on_ready(2);
  order.on_finished(1);
  order.on_ready(3);
  EXPECT_THAT(order.inputs(0), IsEmpty());
  EXPECT_THAT(order.inputs(1), ElementsAre(0));
  EXPECT_THAT(order.inputs(2), ElementsAre(0));
  EXPECT_THAT(order.inputs(3), ElementsAre(1));
  EXPECT_THAT(order.urgency({1, 2, 4, 8}), ElementsAre(11, 10, 4, 8));
}

TEST(LearnedOrder, ForgetsInputThatEndsLater) {
  LearnedOrder order(3);
  order.begin_step();
  for (const int node : {0, 1}) order.on_ready(node);
  for (const int node : {0, 1}) order.on_finished(node);
  order.on_ready(2);
  EXPECT_THAT(order.inputs(2), ElementsAre(1));
  order.begin_step();
  for (const int node : {0, 1}) order.on_ready(node);
  order.on_finished(0);
  order.on_ready(2);
  order.on_finished(1);
  EXPECT_THAT(order.inputs(2), ElementsAre(0));
  EXPECT_THAT(order.urgency({1, 2, 4}), ElementsAre(5, 2, 4));
}

TEST(LearnedOrder, LeavesOutNodesThatStepHadNot) {
  LearnedOrder order(3);
  order.begin_step();
  order.on_ready(0);
  order.on_finished(0);
  order.on_ready(1);
  order.on_finished(1);
  order.begin_step();
  order.on_ready(0);
  EXPECT_THAT(order.urgency({1, 2, 4}), ElementsAre(1, 2, 4));
}

// Random graphs on an executor that runs two nodes at once: after some steps the urgency of every
// node is that of the graph, where a node's inputs end at moments of their own.
TEST(LearnedOrder, FindsUrgencyOfRandomGraphs) {
  std::mt19937 random(7);
  for (int graph = 0; graph < 50; ++graph) {
    const std::size_t nodes = 3 + random() % 10;
    std::vector<int> input(nodes, -1);  // one each, so that the last to end is known
    std::vector<double> seconds;
    for (std::size_t i = 0; i < nodes; ++i) {
      if (i > 0 && random() % 4 != 0) input[i] = static_cast<int>(random() % i);
      seconds.push_back(1 + static_cast<double>(random() % 8));
    }
    std::vector<double> expected = seconds;
    for (std::size_t i = nodes; i-- > 0;) {
      if (input[i] < 0) continue;
      double& before = expected[static_cast<std::size_t>(input[i])];
      before = std::max(before, seconds[static_cast<std::size_t>(input[i])] + expected[i]);
    }
    LearnedOrder order(nodes);
    std::vector<double> found;
    order.begin_step();
    std::vector<int> ready;
    const auto hand_out = [&](int ended) {
      for (std::size_t i = 0; i < nodes; ++i) {
        if (input[i] != ended) continue;
        order.on_ready(static_cast<int>(i));
        ready.push_back(static_cast<int>(i));
      }
    };
    hand_out(-1);
    while (!ready.empty()) {
      const auto next = ready.begin() + static_cast<std::ptrdiff_t>(random() % ready.size());
      const int node = *next;
      ready.erase(next);
      order.on_finished(node);
      hand_out(node);
    }
    EXPECT_EQ(order.urgency(seconds), expected) << graph;
  }
}

}  // namespace
}  // namespace optile::sched
