#include "sched/simulation/step_simulator.h"

#include <gtest/gtest.h>

#include "sched/simulation/step_study.h"
#include "sched/strategies/strategies.h"
#include "tests/sched/leases/lawful.h"
#include "tests/sched/strategies/step_graphs.h"

namespace optile::sched {
namespace {

using namespace step_graphs;

constexpr double kSame = kSameSeconds;

class EveryStrategy : public testing::TestWithParam<std::string> {};

TEST_P(EveryStrategy, ProducesValidSchedulesOnRandomGraphs) {
  const StepConditions conditions;
  for (const std::string machine : {"knl", "epyc-2x96", "xeon-snc", "hybrid", "core:4 pu:1"}) {
    const CoreMap map = map_of(machine);
    for (std::uint64_t seed = 1; seed <= 4; ++seed) {
      const StepGraph graph = random_graph(map, 120, seed);
      ASSERT_TRUE(check_step_graph(graph, map.space).ok());
      const StepOutline outline = make_step_outline(graph, map);
      const auto strategy = make_fixed_strategy(GetParam(), outline);
      StepSimulator simulator(outline, conditions);
      for (std::uint64_t step = 0; step < 3; ++step) {
        const auto outcome = simulator.run(strategy.get(), step);
        ASSERT_TRUE(outcome.ok()) << outcome.message() << ", seed " << seed << " on " << machine;
        expect_lawful(outline, outcome.value());
      }
    }
  }
}

TEST_P(EveryStrategy, IsDeterministicForSameSeed) {
  const CoreMap map = map_of("knl");
  const StepGraph graph = random_graph(map, 300, 7);
  const StepOutline outline = make_step_outline(graph, map);
  StepConditions conditions;
  conditions.noise.spread = 0.1;
  std::vector<double> seconds;
  for (const std::uint64_t seed : {1U, 1U, 2U}) {
    conditions.noise.seed = seed;
    const auto strategy = make_fixed_strategy(GetParam(), outline);
    seconds.push_back(simulate_steps(outline, conditions, 2, strategy.get()).value().seconds);
  }
  EXPECT_EQ(seconds[0], seconds[1]);
  EXPECT_NE(seconds[0], seconds[2]);
}

INSTANTIATE_TEST_SUITE_P(Strategies, EveryStrategy, testing::ValuesIn(fixed_strategy_names()));

// Two ops that would each use all of the memory: beside each other both take twice as long.
TEST(StepSimulator, SlowsOpsThatShareMemoryBandwidth) {
  const CoreMap map = map_of("l2:4 core:1 pu:1");
  StepGraph graph;
  graph.instances = {instance("copy", times_by_width(map, [](int) { return 1.0; }), 1.0)};
  graph.nodes = {{0, {}}, {0, {}}};
  const StepOutline outline = make_step_outline(graph, map);
  const StepConditions conditions;
  UniformStrategy beside(outline, {2, 2});
  const auto both = simulate_steps(outline, conditions, 0, &beside);
  EXPECT_NEAR(both.value().seconds, 2.0, kSame);
  EXPECT_NEAR(both.value().corunning_mean, (1 + 2 + 2 + 1) / 4.0, kSame);
  UniformStrategy behind(outline, {1, 2});
  EXPECT_NEAR(simulate_steps(outline, conditions, 0, &behind).value().seconds, 2.0, kSame);
}

TEST(StepSimulator, DividesCoreThroughputAmongHardwareThreads) {
  const StepConditions conditions;
  const double gain = conditions.interference.two_threads_gain;
  const std::pair<const char*, double> machines[] = {{"l2:2 core:1 pu:2", 2.0 / gain},
                                                     {"l2:2 core:1 pu:4", 2.0 / gain},
                                                     {"l2:2 core:1 pu:1", 2.0}};
  for (const auto& [machine, seconds] : machines) {
    SCOPED_TRACE(machine);
    const CoreMap map = map_of(machine);
    StepGraph graph;
    graph.instances = {instance("sum", times_by_width(map, [](int) { return 1.0; }))};
    graph.nodes = {{0, {}}, {0, {}}};
    const StepOutline outline = make_step_outline(graph, map);
    UniformStrategy beside(outline, {2, 2});
    EXPECT_NEAR(simulate_steps(outline, conditions, 0, &beside).value().seconds, seconds, kSame);
  }
}

TEST(StepSimulator, ChargesWidthChangeToItsLane) {
  const CoreMap map = map_of("l2:4 core:1 pu:1");
  StepGraph graph;
  graph.instances = {
      instance("wide", times_by_width(map, [](int w) { return 1.0 / w; })),
      instance("narrow", times_by_width(map, [](int w) { return 0.1 * w + 0.1 / w; }))};
  graph.instances[1].tunable = false;
  graph.instances[1].default_width = 2;
  graph.nodes = {{0, {}}, {1, {0}}, {0, {1}}};
  const StepOutline outline = make_step_outline(graph, map);
  StepConditions conditions;
  conditions.switching.learn(std::chrono::milliseconds(10), 1);
  const auto strategy = make_fixed_strategy("s12", outline);
  const auto first = simulate_steps(outline, conditions, 0, strategy.get());
  EXPECT_NEAR(first.value().seconds, 0.25 + 0.25 + 0.25 + 2 * 0.010, kSame);
}

TEST(StepSimulator, TeamRunsAtSpeedOfSlowestCore) {
  const CoreMap map = map_of("hybrid");
  StepGraph graph;
  graph.instances = {instance("op", times_by_width(map, [](int w) { return 8.0 / w; }))};
  graph.instances[0].tunable = false;
  graph.nodes = {{0, {}}};
  const StepOutline outline = make_step_outline(graph, map);
  for (const auto& [width, speed] : {std::pair(8, 1.0), std::pair(16, map.speed.back())}) {
    UniformStrategy strategy(outline, {1, width});
    EXPECT_NEAR(simulate_steps(outline, {}, 0, &strategy).value().seconds, 8.0 / width / speed,
                kSame);
  }
}

// A strategy that breaks its contract is caught, not simulated.
class Careless : public StepStrategy {
 public:
  explicit Careless(Launch launch) : launch_(std::move(launch)) {}
  void begin_step() override {}
  void on_ready(int /*node*/) override {}
  void on_finished(int /*node*/, double /*now*/) override {}
  void decide(double /*now*/, std::vector<Launch>* launches) override {
    if (launch_.which.width > 0) launches->assign({launch_, launch_});
  }
  std::string description() const override { return "careless"; }

 private:
  Launch launch_;
};

TEST(StepSimulator, RejectsStrategyThatBreaksItsContract) {
  const CoreMap map = map_of("l2:4 core:1 pu:1");
  const StepGraph graph = random_graph(map, 8, 3);
  const StepOutline outline = make_step_outline(graph, map);
  CoreSet first;
  first.add(0);
  const perfmodel::Configuration one{1, perfmodel::Binding::kSpread};
  const perfmodel::Configuration two{2, perfmodel::Binding::kSpread};
  const std::pair<Launch, const char*> cases[] = {
      {{0, one, first, Placement::kOwnCores, 1}, "not ready"},  // the same one twice
      {{99, one, first, Placement::kOwnCores, 1}, "not ready"},
      {{0, two, first, Placement::kOwnCores, 1}, "on 1 cores"},
      {{0, one, first, Placement::kSiblings, 1}, "another op has"},  // there are no siblings
      {{}, "starts nothing"}};
  for (const auto& [launch, what] : cases) {
    Careless strategy(launch);
    const auto outcome = simulate_steps(outline, {}, 0, &strategy);
    ASSERT_FALSE(outcome.ok()) << what;
    EXPECT_EQ(outcome.error().kind, base::ErrorKind::kInternal);
    EXPECT_NE(outcome.message().find(what), std::string::npos) << outcome.message();
  }
}

TEST(StepStudy, ManualIsTheBestUniformSetting) {
  const CoreMap map = map_of("l2:2 core:2 pu:2");
  const StepGraph graph = random_graph(map, 60, 5);
  const StepOutline outline = make_step_outline(graph, map);
  const auto study = study_step(outline, {}, "manual");
  ASSERT_TRUE(study.ok());
  double best = perfmodel::kInfinity;
  for (int inter = 1; inter <= 12; ++inter) {
    for (const int intra : {1, 2, 3, 4, 8}) {
      UniformStrategy strategy(outline, {inter, intra});
      best = std::min(best, simulate_steps(outline, {}, 0, &strategy).value().seconds);
    }
  }
  EXPECT_NEAR(study.value().step.seconds, best, best * 1e-9);
  EXPECT_LE(study.value().manual.seconds, study.value().recommendation_seconds);
}

TEST(StepStudy, UnknownStrategyErrorListsStrategies) {
  const CoreMap map = map_of("l2:2 core:2 pu:2");
  const StepGraph graph = random_graph(map, 10, 5);
  const auto study = study_step(make_step_outline(graph, map), {}, "s99");
  ASSERT_FALSE(study.ok());
  EXPECT_EQ(study.error().kind, base::ErrorKind::kNotFound);
  EXPECT_NE(study.message().find("s123"), std::string::npos);
}

}  // namespace
}  // namespace optile::sched
