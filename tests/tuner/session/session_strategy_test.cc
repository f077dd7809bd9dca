// The strategies by name, bindings, and what a session learns from whole steps.
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "tests/tuner/session/simulated_client.h"
#include "tests/tuner/session/simulated_programs.h"

namespace optile::tuner {
namespace {

using perfmodel::Binding;
using perfmodel::Nanoseconds;

SessionOptions options_with(Strategy strategy) {
  SessionOptions options = options_for(4);
  options.strategy = strategy;
  return options;
}

// `times` rounds of two ops that want 2 and 3 threads.
SimulatedProgram alternating(int times, double scale) {
  SimulatedProgram program;
  program.ops = {
      {1, "a", table({900 * scale, 400 * scale, 480 * scale, 800 * scale}), true, false},
      {2, "b", table({900 * scale, 480 * scale, 400 * scale, 800 * scale}), true, false},
      {3, "head", table({90 * scale, 90 * scale, 90 * scale, 90 * scale}), true, false},
  };
  program.order.push_back(2);
  for (int i = 0; i < times; ++i) {
    program.order.push_back(0);
    program.order.push_back(1);
  }
  return program;
}

std::set<int> widths_in(const SimulatedClient& client, std::size_t ops) {
  std::set<int> widths;
  for (std::size_t i = 1; i < ops; ++i) widths.insert(client.planned_width(i));
  return widths;
}

TEST(SessionStrategy, UniformUsesOneWidth) {
  Session session(options_with(Strategy::kUniform));
  SimulatedClient client(session, alternating(6, 1e3), {});
  ASSERT_TRUE(client.run_until_tuned(400));
  const std::set<int> widths = widths_in(client, 13);
  EXPECT_EQ(widths.size(), 1u);
  EXPECT_TRUE(widths.contains(2) || widths.contains(3));
  const SessionView view = session.view();
  EXPECT_EQ(view.uniform_width, *widths.begin());
  EXPECT_GT(view.uniform_steps.count(), 0u);
}

TEST(SessionStrategy, OneGivesEachOpPlaceItsBestWidth) {
  Session session(options_with(Strategy::kOne));
  SimulatedClient client(session, alternating(6, 1e3), {});
  ASSERT_TRUE(client.run_until_tuned(400));
  for (std::size_t i = 1; i < 13; ++i) EXPECT_EQ(client.planned_width(i), i % 2 == 1 ? 2 : 3);
  EXPECT_EQ(session.view().uniform_steps.count(), 0u) << "not compared against one width";
  EXPECT_GT(session.view().own_steps.count(), 0u) << "but against the program's own";
}

TEST(SessionStrategy, TwoGivesEachNameWidthOfSlowestInstance) {
  SimulatedProgram program = alternating(6, 1e3);
  program.ops[0].name = "same";
  program.ops[1].name = "same";
  program.ops[1].ns = table({1900e3, 980e3, 700e3, 1600e3});
  Session session(options_with(Strategy::kTwo));
  SimulatedClient client(session, program, {});
  ASSERT_TRUE(client.run_until_tuned(400));
  EXPECT_EQ(widths_in(client, 13), (std::set<int>{3}));
}

TEST(SessionStrategy, OneIsRevertedWhenMeasuredSlower) {
  SimulatedClientOptions dear;
  dear.change_ns = 1e6;
  Session session(options_with(Strategy::kOne));
  SimulatedClient client(session, alternating(6, 1e3), dear);
  ASSERT_TRUE(client.run_until_tuned(400));
  EXPECT_EQ(widths_in(client, 13), (std::set<int>{4}));
}

// The runtime's prior says a change costs 3 us; here it costs 100. The first plan changes at every
// op, whole steps show what that costs, the second plan knows it.
TEST(SessionStrategy, LearnsSwitchingCostAndReplans) {
  SimulatedClientOptions dear;
  dear.change_ns = 100e3;
  Session session(options_with(Strategy::kAuto));
  SimulatedClient client(session, alternating(10, 1e3), dear);
  ASSERT_TRUE(client.run_until_tuned(600));
  const SessionView view = session.view();
  EXPECT_TRUE(view.switching_cost_measured);
  EXPECT_NEAR(static_cast<double>(view.switching_cost.count()), 100e3, 30e3);
  EXPECT_EQ(widths_in(client, 21).size(), 1u);
  EXPECT_LT(client.planned_step_ns(), 0.6 * client.uniform_step_ns(4));
}

TEST(SessionStrategy, UsesSeveralWidthsWhenSwitchingIsCheap) {
  Session session(options_with(Strategy::kAuto));
  SimulatedClientOptions cheap;
  cheap.change_ns = 4e3;
  SimulatedClient client(session, alternating(10, 1e3), cheap);
  ASSERT_TRUE(client.run_until_tuned(600));
  EXPECT_EQ(widths_in(client, 21), (std::set<int>{2, 3}));
}

TEST(SessionStrategy, FindsBestWidthDespiteSlowFirstRuns) {
  SimulatedClientOptions slow_start;
  slow_start.first_touch_ns = 700e3;
  Session session(options_with(Strategy::kAuto));
  SimulatedProgram program = alternating(10, 100);
  SimulatedClient client(session, program, slow_start);
  ASSERT_TRUE(client.run_until_tuned(600));
  EXPECT_LT(client.planned_step_ns(), 0.65 * client.uniform_step_ns(4));
}

TEST(SessionStrategy, PlanHasBindingAndBeatsDefaultWidth) {
  SessionOptions options = options_with(Strategy::kAuto);
  options.cores = 8;
  options.cases = {{1, Binding::kSpread},  {2, Binding::kSpread},  {3, Binding::kSpread},
                   {4, Binding::kSpread},  {2, Binding::kCompact}, {4, Binding::kCompact},
                   {6, Binding::kCompact}, {8, Binding::kCompact}};
  SimulatedProgram program;
  program.ops = {
      {1, "a", [](int width) { return 1e6 * (4.0 / width + 0.4 * width); }, true, false},
      {2, "b", [](int width) { return 1e6 * (3.0 / width + 0.3 * width); }, true, false},
      {3, "c", [](int width) { return 1e6 * (8.0 / width + 0.2 * width); }, true, false}};
  program.order = {0, 1, 2};
  SimulatedClientOptions wide;
  wide.default_width = 8;
  Session session(options);
  SimulatedClient client(session, program, wide);
  ASSERT_TRUE(client.run_until_tuned(600));
  EXPECT_NE(session.view().binding, Binding::kNone);
  EXPECT_EQ(client.page()->binding, session.view().binding);
  EXPECT_LT(client.planned_step_ns(), 0.8 * client.uniform_step_ns(8));
}

TEST(SessionStrategy, IsDeterministicForSameSeed) {
  SimulatedClientOptions noisy;
  noisy.noise.per_op = 0.1;
  noisy.noise.heavy_share = 0.05;
  std::string decisions[2];
  for (std::string& decision : decisions) {
    Session session(options_with(Strategy::kAuto));
    SimulatedClient client(session, alternating(10, 1e3), noisy);
    ASSERT_TRUE(client.run_until_tuned(600));
    decision = session.view().decision + std::to_string(session.view().sampled_steps);
  }
  EXPECT_EQ(decisions[0], decisions[1]);
}

}  // namespace
}  // namespace optile::tuner
