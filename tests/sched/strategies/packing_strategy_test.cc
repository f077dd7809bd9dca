// The paper's rules (III-D), one by one, on a machine of 68 cores.
#include "sched/strategies/packing_strategy.h"

#include <gtest/gtest.h>

#include <optional>

#include "tests/sched/strategies/step_graphs.h"

namespace optile::sched {
namespace {

using namespace step_graphs;

// Seconds at the named widths on whole tiles (or half of one), dear everywhere else.
OpInstance with_times(const CoreMap& map, std::string op,
                      std::initializer_list<std::pair<int, double>> points) {
  OpInstance one = instance(std::move(op), times_by_width(map, [](int) { return 1000.0; }));
  for (const auto& [width, seconds] : points) {
    const perfmodel::Configuration compact{width, perfmodel::Binding::kCompact};
    const perfmodel::Configuration spread{width, perfmodel::Binding::kSpread};
    const perfmodel::Configuration mixed{width, perfmodel::Binding::kMixed};
    for (const perfmodel::Configuration which : {compact, mixed, spread}) {
      if (!map.space.admits(which)) continue;
      one.times.set(which, seconds);
      break;
    }
  }
  return one;
}

class Packing : public testing::Test {
 protected:
  Packing() : map_(map_of("knl")) {}

  // Nodes are ready in this order from the beginning; with `ready` said, only so many of them.
  void begin(std::vector<OpInstance> instances, const std::vector<int>& nodes,
             PackingOptions options = {}, std::size_t ready = SIZE_MAX) {
    graph_.instances = std::move(instances);
    for (const int one : nodes) graph_.nodes.push_back({one, {}});
    outline_ = make_step_outline(graph_, map_);
    strategy_.emplace(outline_, options);
    ready_ = std::min(ready, nodes.size());
    begin_step();
  }
  void begin_step() {
    strategy_->begin_step();
    for (std::size_t i = 0; i < ready_; ++i) strategy_->on_ready(static_cast<int>(i));
  }
  std::vector<Launch> decide(double now) {
    std::vector<Launch> launches;
    strategy_->decide(now, &launches);
    return launches;
  }

  CoreMap map_;
  StepGraph graph_;
  std::size_t ready_ = 0;
  StepOutline outline_;
  std::optional<PackingStrategy> strategy_;
};

TEST_F(Packing, StartsSlowestReadyOpAtPlannedWidthOnIdleMachine) {
  begin({with_times(map_, "short", {{68, 1.0}}), with_times(map_, "long", {{68, 3.0}})}, {0, 1});
  const auto launches = decide(0);
  ASSERT_EQ(launches.size(), 1u);
  EXPECT_EQ(launches[0].node, 1);
  EXPECT_EQ(launches[0].which.width, 68);
}

// III-D: 20 cores are idle and what runs needs 1.9 s more: 18 threads for 1.5 s before 20 for 1.3
// s.
TEST_F(Packing, PrefersNarrowestWidthThatEndsInTime) {
  begin({with_times(map_, "holder", {{48, 2.0}}),
         with_times(map_, "op", {{20, 1.3}, {18, 1.5}, {19, 1.6}})},
        {0, 1});
  const auto launches = decide(0);
  ASSERT_EQ(launches.size(), 2u);
  EXPECT_EQ(launches[0].node, 0);
  EXPECT_EQ(launches[1].node, 1);
  EXPECT_EQ(launches[1].which.width, 18);
  EXPECT_FALSE(launches[0].cores.overlaps(launches[1].cores));
}

TEST_F(Packing, RejectsWidthThatOutlastsRunningOps) {
  begin({with_times(map_, "holder", {{48, 1.4}}),
         with_times(map_, "op", {{20, 1.3}, {18, 1.5}, {19, 1.6}})},
        {0, 1});
  auto launches = decide(0);
  ASSERT_EQ(launches.size(), 2u);
  EXPECT_EQ(launches[1].which.width, 20);  // 18 would fit as well, and end later
}

TEST_F(Packing, WaitsWhenEveryCandidateOutlastsRunningOps) {
  begin({with_times(map_, "holder", {{48, 1.0}}), with_times(map_, "other", {{20, 0.9}})},
        {0, 1, 1}, {}, 2);
  auto launches = decide(0);
  ASSERT_EQ(launches.size(), 2u);
  strategy_->on_finished(1, 0.9);
  strategy_->on_ready(2);
  EXPECT_TRUE(decide(0.9).empty());  // 0.1 s are left
  strategy_->on_finished(0, 1.0);
  launches = decide(1.0);
  ASSERT_EQ(launches.size(), 1u);
  EXPECT_EQ(launches[0].which.width, 20);
}

// The plan is that of the op's slowest instance: 30. A candidate of 27 is more than two away.
TEST_F(Packing, UsesPlannedWidthWhenCandidateIsTooFarOff) {
  const auto op_instances = [this](int small_width) {
    return std::vector<OpInstance>{with_times(map_, "holder", {{30, 50.0}}),
                                   with_times(map_, "op", {{30, 5.0}}),
                                   with_times(map_, "op", {{small_width, 1.0}, {30, 2.0}})};
  };
  begin(op_instances(27), {0, 2});
  auto launches = decide(0);
  ASSERT_EQ(launches.size(), 2u);
  EXPECT_EQ(launches[1].which.width, 30);
  graph_ = {};
  begin(op_instances(28), {0, 2});
  launches = decide(0);
  ASSERT_EQ(launches.size(), 2u);
  EXPECT_EQ(launches[1].which.width, 28);
}

TEST_F(Packing, WaitsWhenPlannedWidthDoesNotFit) {
  begin({with_times(map_, "holder", {{48, 50.0}}), with_times(map_, "op", {{30, 5.0}}),
         with_times(map_, "op", {{10, 1.0}, {30, 2.0}})},
        {0, 2});
  EXPECT_EQ(decide(0).size(), 1u);  // 10 is too far from the plan, and 30 cores are not idle
}

TEST_F(Packing, RunsShortestSerialOpOnSiblingsWhenAllCoresAreHeld) {
  std::vector<OpInstance> instances = {with_times(map_, "holder", {{68, 50.0}}),
                                       with_times(map_, "a", {{1, 3.0}, {4, 1.0}}),
                                       with_times(map_, "b", {{1, 2.0}, {4, 1.5}})};
  begin(instances, {0, 1, 2});
  EXPECT_EQ(decide(0).size(), 1u);  // strategy 3 alone: no core is idle
  graph_ = {};
  begin(instances, {0, 1, 2}, {WidthRule::kPerOp, true});
  const auto launches = decide(0);
  ASSERT_EQ(launches.size(), 2u);
  EXPECT_EQ(launches[1].node, 2);
  EXPECT_EQ(launches[1].placement, Placement::kSiblings);
  EXPECT_EQ(launches[1].which.width, 4);
}

TEST_F(Packing, DoesNotCorunPairThatInterfered) {
  begin({with_times(map_, "holder", {{48, 2.0}}), with_times(map_, "op", {{20, 1.0}})}, {0, 1});
  ASSERT_EQ(decide(0).size(), 2u);
  strategy_->on_finished(1, 1.4);  // forty percent: within what a good pair loses
  strategy_->on_finished(0, 2.4);
  begin_step();
  ASSERT_EQ(decide(0).size(), 2u);
  strategy_->on_finished(1, 1.6);
  strategy_->on_finished(0, 2.6);
  EXPECT_EQ(strategy_->memory().pairs(), 1u);
  begin_step();
  EXPECT_EQ(decide(0).size(), 1u);
}

TEST_F(Packing, ReusesDecisionsOfPreviousStep) {
  begin({with_times(map_, "holder", {{30, 3.0}}), with_times(map_, "op", {{10, 1.0}, {8, 1.1}})},
        {0, 1, 1, 1, 1, 1});
  const auto one_step = [this] {
    begin_step();
    std::vector<std::pair<int, int>> decided;
    for (const Launch& launch : decide(0)) decided.emplace_back(launch.node, launch.which.width);
    for (const auto& [node, width] : decided) {
      if (node != 0) strategy_->on_finished(node, 1.1);
    }
    strategy_->on_finished(0, 3.0);
    return decided;
  };
  const auto first = one_step();
  const std::uint64_t weighed = strategy_->effort().weighed;
  EXPECT_EQ(one_step(), first);
  EXPECT_EQ(strategy_->effort().weighed, weighed);
  EXPECT_GE(strategy_->effort().remembered, first.size() - 1);
}

// The order in which a decision looks at them is its own affair.
TEST_F(Packing, PrefersOpReadyLongestAmongEqualCandidates) {
  // Both have a case of width 12 that takes a second; the other case of the younger is narrower,
  // but outlasts the holder.
  begin({with_times(map_, "holder", {{56, 2.0}}), with_times(map_, "older", {{12, 1.0}, {14, 1.1}}),
         with_times(map_, "younger", {{12, 1.0}, {10, 2.5}})},
        {0, 1, 2}, {WidthRule::kPerInstance, false});
  const auto launches = decide(0);
  ASSERT_EQ(launches.size(), 2u);
  EXPECT_EQ(launches[1].node, 1);
}

// What a decision costs, counted instead of timed.
TEST_F(Packing, WeighsEachReadyOpAtMostOnce) {
  std::vector<OpInstance> instances = {with_times(map_, "holder", {{30, 300.0}})};
  for (int i = 0; i < 500; ++i) {
    instances.push_back(with_times(map_, "op" + std::to_string(i), {{40, 1.0 + i}}));
  }
  std::vector<int> nodes(501);
  for (int i = 0; i <= 500; ++i) nodes[static_cast<std::size_t>(i)] = i;
  nodes.resize(300);
  begin(std::move(instances), nodes);
  EXPECT_EQ(decide(0).size(), 1u);  // 40 do not fit beside the holder's 30
  EXPECT_LE(strategy_->effort().weighed, 299u);
}

}  // namespace
}  // namespace optile::sched
