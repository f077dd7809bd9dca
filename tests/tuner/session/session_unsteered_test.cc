// A program of which nothing can be steered: its session samples some of it and then pauses.
#include <gtest/gtest.h>

#include "tests/tuner/session/simulated_client.h"
#include "tests/tuner/session/simulated_programs.h"

namespace optile::tuner {
namespace {

// Ops of one millisecond that nobody knows a width of.
SimulatedProgram unsteered_program(std::size_t ops) {
  return one_of_each(
      std::vector<std::function<double(int)>>(ops, [](int /*width*/) { return kMs; }));
}

SimulatedClientOptions without_width() {
  SimulatedClientOptions options;
  options.default_width = 0;
  return options;
}

// No op comes twice.
std::vector<int> never_the_same(SimulatedProgram& program, uint64_t first, int ops) {
  program = unsteered_program(static_cast<std::size_t>(ops));
  for (SimulatedOp& op : program.ops) op.key += first;
  return program.order;
}

// Of 400 steps.
int counted_pages(const SessionOptions& options, const SimulatedClientOptions& client_options,
                  const SimulatedProgram& program) {
  Session session(options);
  SimulatedClient client(session, program, client_options);
  int counted = 0;
  for (int i = 0; i < 400; ++i) {
    client.run_steps(1);
    counted += client.page() != nullptr && client.page()->count ? 1 : 0;
  }
  return counted;
}

// Regions outside of any op: nothing tells the program's default width.
TEST(UnsteeredSession, CountsEventsOnlyOnRequest) {
  SessionOptions options = options_for(4);
  options.counted_steps = 8;
  SimulatedClientOptions unknown;
  unknown.default_width = 0;
  const auto constant = [](int /*width*/) { return kMs; };
  const SimulatedProgram program = one_of_each({constant, constant, constant});
  EXPECT_EQ(counted_pages(options, unknown, program), 0);
  options.counts_in_any_case = true;
  const int counted = counted_pages(options, unknown, program);
  EXPECT_GE(counted, 8);
  EXPECT_LE(counted, 12);
}

TEST(UnsteeredSession, CountsEventsOnlyOnRequestWhenNoWidthCanBeSet) {
  SessionOptions options = options_for(4);
  options.counted_steps = 8;
  SimulatedProgram fixed = mixed_program();
  for (SimulatedOp& op : fixed.ops) op.steerable = false;
  SimulatedProgram regions = mixed_program();
  for (SimulatedOp& op : regions.ops) op.region = true;
  SimulatedClientOptions narrow;
  narrow.default_width = 1;
  EXPECT_EQ(counted_pages(options, {}, fixed), 0);
  EXPECT_EQ(counted_pages(options, {}, regions), 0);
  EXPECT_EQ(counted_pages(options, narrow, mixed_program()), 0) << "there is no narrower width";
  EXPECT_GE(counted_pages(options, {}, mixed_program()), 8);
  options.counts_in_any_case = true;
  EXPECT_GE(counted_pages(options, {}, fixed), 8);
}

TEST(UnsteeredSession, RestsOnceStepIsKnown) {
  Session session(options_for(4));
  SimulatedClient client(session, unsteered_program(10), without_width());
  client.run_steps(60);
  ASSERT_EQ(session.view().phase, Phase::kRecognising);
  EXPECT_FALSE(client.page()->record_all);
  EXPECT_TRUE(client.page()->may_pause_sampling);
  const uint64_t heard = client.op_events();
  const uint32_t steps = session.view().steps;
  client.run_steps(500);
  EXPECT_EQ(client.op_events(), heard);
  EXPECT_EQ(session.view().steps, steps + 500);
  EXPECT_NE(session.view().decision.find("a step of 10 ops is known"), std::string::npos);
}

TEST(UnsteeredSession, TunesSteerableOpsThatAppearLater) {
  Session session(options_for(4));
  SimulatedClient client(session, unsteered_program(10), without_width());
  client.run_steps(100);
  ASSERT_FALSE(client.page()->record_all);
  SimulatedProgram steered = mixed_program();
  for (SimulatedOp& op : steered.ops) op.key += 500;
  client.replace_program(steered);
  client.set_default_width(4);  // as the client tells with the first such op
  ASSERT_TRUE(client.run_until_tuned(600));
  EXPECT_EQ(client.planned_width(1), 2);
  EXPECT_EQ(client.planned_width(2), 1);
}

TEST(UnsteeredSession, RecognisesNewStepWhileSamplingIsPaused) {
  Session session(options_for(4));
  SimulatedClient client(session, unsteered_program(10), without_width());
  client.run_steps(100);
  ASSERT_FALSE(client.page()->record_all);
  SimulatedProgram another = unsteered_program(25);
  for (SimulatedOp& op : another.ops) op.key += 500;
  client.replace_program(another);
  client.run_steps(200);
  EXPECT_EQ(session.view().ops.size(), 25u);
  EXPECT_FALSE(client.page()->record_all);
}

// GROMACS: a hundred regions a second, in which a step is found late or never.
TEST(UnsteeredSession, ListensIntermittentlyToProgramWithoutSteps) {
  Session session(options_for(4));
  SimulatedProgram program;
  uint64_t first = 0;
  std::vector<int> order = never_the_same(program, first, 1000);
  SimulatedClient client(session, program, without_width());
  const auto run_on = [&](int rounds) {
    for (int i = 0; i < rounds; ++i) {
      order = never_the_same(program, first += 1000, 1000);
      client.replace_program(program);
      client.run_steps(1);
    }
  };
  run_on(70);
  EXPECT_FALSE(client.page()->record_all);
  EXPECT_NE(session.view().decision.find("no repeating step was found"), std::string::npos);
  const uint64_t heard = client.op_events();
  run_on(600);
  EXPECT_GT(client.op_events(), heard) << "a step may have begun to repeat";
  EXPECT_LT(client.op_events(), heard + 70'000) << "of 600,000 ops";

  client.replace_program(unsteered_program(10));
  client.run_steps(400'000);
  EXPECT_EQ(session.view().ops.size(), 10u);
}

}  // namespace
}  // namespace optile::tuner
