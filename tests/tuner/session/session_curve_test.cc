// The curve that leases are decided by: seconds of a step over the number of cores.
#include <gtest/gtest.h>

#include "tests/tuner/session/simulated_client.h"
#include "tests/tuner/session/simulated_programs.h"

namespace optile::tuner {
namespace {

// One that scales, with the plan of an earlier run.
SessionOptions second_run() {
  Session session(options_for(4));
  SimulatedClient client(session, wide_program(), {});
  EXPECT_TRUE(client.run_until_tuned(400));
  const auto settled = session.take_settled();
  SessionOptions options = options_for(4);
  if (settled) options.stored = settled->plan;
  return options;
}

// What a lease is decided by: a program that came under one core has a curve nevertheless.
TEST(SessionCurve, PredictsScalingFromNarrowLease) {
  Session session(options_for(4));
  int cores = 1;
  // Four threads on one core: what the first execution of everything meets.
  const auto crowded = [&cores](double work) {
    return [&cores, work](int width) { return width > cores ? 10 * work : work / width; };
  };
  SimulatedClient client(session, one_of_each({crowded(8 * kMs), crowded(6 * kMs)}), {});
  EXPECT_TRUE(session.step_seconds_by_cores(4).empty());
  client.run_steps(1);
  client.set_default_width(1);
  client.run_steps(60);
  const std::vector<double> narrow = session.step_seconds_by_cores(4);
  ASSERT_EQ(narrow.size(), 4u);
  EXPECT_NEAR(narrow[0], 0.014, 0.001);
  EXPECT_LT(narrow[3], 0.5 * narrow[0]) << "nine tenths are taken to scale";

  cores = 4;
  client.set_default_width(4);
  session.set_bounds(perfmodel::unbound_cases(4), 4, 4);
  client.run_steps(200);
  const std::vector<double> wide = session.step_seconds_by_cores(4);
  EXPECT_NEAR(wide[0], 0.014, 0.001);
  EXPECT_NEAR(wide[3], 0.0035, 0.0004);
}

// On one core there is nothing to try, so that events are off before every op was sampled.
TEST(SessionCurve, ScalesUnsampledOpsLikeSampledOnes) {
  const auto scaling = [](int width) { return 5 * kMs / width; };
  Session session(options_for(4));
  SimulatedClientOptions narrow;
  narrow.default_width = 1;
  narrow.adoption_delay = 0;
  SimulatedClient client(session, one_of_each({scaling, scaling, scaling, scaling, scaling}),
                         narrow);
  client.run_steps(60);
  ASSERT_LT(session.view().samples, 5U);
  const std::vector<double> curve = session.step_seconds_by_cores(4);
  ASSERT_EQ(curve.size(), 4u);
  EXPECT_NEAR(curve[0], 0.025, 0.0005);
  EXPECT_LT(curve[3], 0.5 * curve[0]);
}

TEST(SessionCurve, UsesTimesStoredByEarlierRuns) {
  SessionOptions options = second_run();
  Session session(options);
  SimulatedClient client(session, wide_program(), {});
  client.run_steps(60);
  ASSERT_TRUE(session.view().plan_replayed);
  const std::vector<double> guessed = session.step_seconds_by_cores(4);
  ASSERT_EQ(guessed.size(), 4u);

  for (const double ops : {8.0, 6.0, 9.0}) {
    const auto key = static_cast<uint64_t>(ops == 8.0 ? 1000 : ops == 6.0 ? 1001 : 1002);
    options.stored->times.push_back({key, 1, ops * kMs});
    options.stored->times.push_back({key, 2, 0.9 * ops * kMs});
    options.stored->times.push_back({key, 4, ops / 4 * kMs});
  }
  Session informed(options);
  SimulatedClient second(informed, wide_program(), {});
  second.run_steps(60);
  const std::vector<double> known = informed.step_seconds_by_cores(4);
  EXPECT_NEAR(known[0], 0.023, 0.0005);
  EXPECT_NEAR(known[1], 0.0207, 0.0005);
  EXPECT_NEAR(known[3], guessed[3], 0.0005);
}

// On a machine that was slower then, or beside a neighbour: the shape holds, the level does not.
TEST(SessionCurve, RescalesStoredTimesToCurrentRun) {
  SessionOptions options = second_run();
  for (const double ops : {8.0, 6.0, 9.0}) {
    const auto key = static_cast<uint64_t>(ops == 8.0 ? 1000 : ops == 6.0 ? 1001 : 1002);
    for (const int width : {1, 2, 4}) {
      options.stored->times.push_back({key, width, 2 * ops / width * kMs});
    }
  }
  Session session(options);
  SimulatedClient client(session, wide_program(), {});
  client.run_steps(60);
  ASSERT_TRUE(session.view().plan_replayed);
  const std::vector<double> curve = session.step_seconds_by_cores(4);
  ASSERT_EQ(curve.size(), 4u);
  EXPECT_NEAR(curve[3], 0.023 / 4, 0.0005);
  EXPECT_NEAR(curve[1], 2 * curve[3], 0.0005);
  EXPECT_NEAR(curve[0], 4 * curve[3], 0.0005);
}

}  // namespace
}  // namespace optile::tuner
