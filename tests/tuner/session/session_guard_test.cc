// A session keeps its word: a plan that loses goes, within few steps and with its reason, and one
// that is good stays and costs next to nothing.
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>

#include "tests/tuner/session/simulated_client.h"
#include "tests/tuner/session/simulated_programs.h"

namespace optile::tuner {
namespace {

// Half of it gains by a narrow width.
SimulatedProgram steered_program() {
  return one_of_each({
      scaling(8 * kMs),
      table({1 * kMs, 1.5 * kMs, 2.4 * kMs, 3 * kMs}),
      table({2 * kMs, 1.4 * kMs, 2.7 * kMs, 3.2 * kMs}),
      scaling(6 * kMs, 0.2 * kMs),
  });
}

// The same on a machine where threads beyond the first share their core with somebody's.
SimulatedProgram under_load() {
  return one_of_each({
      scaling(8 * kMs),
      table({9 * kMs, 8 * kMs, 3 * kMs, 2 * kMs}),
      table({9 * kMs, 8 * kMs, 3 * kMs, 2 * kMs}),
      scaling(6 * kMs, 0.2 * kMs),
  });
}

// Every width wrong by four times.
StoredPlan poisoned(StoredPlan plan) {
  for (StoredEntry& entry : plan.entries) entry.width = entry.width == 1 ? 0 : 1;
  return plan;
}

SessionOptions replaying(StoredPlan plan) {
  SessionOptions options = options_for(4);
  options.stored = std::move(plan);
  return options;
}

TEST(SessionGuard, RollsBackWrongStoredPlanWithinTwentySteps) {
  const SimulatedProgram program = one_of_each({scaling(8 * kMs), scaling(6 * kMs)});
  StoredPlan plan = tuned_once(program);
  for (StoredEntry& entry : plan.entries) entry.width = 1;
  Session session(replaying(plan));
  SimulatedClient client(session, program, {});
  client.run_steps(20);
  ASSERT_NE(client.page(), nullptr);
  EXPECT_EQ(client.planned_width(0), 4);
  client.run_steps(480);
  const double untouched = 500 * client.uniform_step_ns(4);
  EXPECT_LE(client.busy_ns() / untouched, 1.05);
  const SessionView view = session.view();
  ASSERT_EQ(view.guard.rollbacks.size(), 1u);
  EXPECT_EQ(view.guard.rollbacks[0].what, "plan");
  EXPECT_GT(view.guard.rollbacks[0].loss_seconds, 0);
  EXPECT_FALSE(view.plan_replayed);
  EXPECT_TRUE(session.take_forgotten());
  EXPECT_FALSE(session.take_forgotten()) << "told once";
}

TEST(SessionGuard, RollsBackWithoutWaitingForCounters) {
  StoredPlan plan = poisoned(tuned_once(steered_program()));
  SessionOptions options = replaying(plan);
  options.counted_steps = 8;
  Session session(options);
  SimulatedClient client(session, steered_program(), {});
  client.run_steps(20);
  EXPECT_EQ(session.view().guard.rollbacks.size(), 1u);
  EXPECT_EQ(client.planned_width(0), 4);
}

TEST(SessionGuard, RollsBackWrongPlanWithoutStoredTimes) {
  StoredPlan plan = poisoned(tuned_once(steered_program()));
  plan.own_step_seconds = plan.tuned_step_seconds = 0;
  Session session(replaying(plan));
  SimulatedClient client(session, steered_program(), {});
  client.run_steps(20);
  EXPECT_EQ(session.view().guard.rollbacks.size(), 1u);
  EXPECT_EQ(client.planned_width(0), 4);
}

TEST(SessionGuard, KeepsGoodPlanWithCheapControls) {
  Session session(replaying(tuned_once(steered_program())));
  SimulatedClientOptions noisy;
  noisy.noise.per_op = 0.05;
  noisy.noise.per_step = 0.03;
  SimulatedClient client(session, steered_program(), noisy);
  client.run_steps(5000);
  const SessionView view = session.view();
  EXPECT_TRUE(view.plan_replayed);
  EXPECT_TRUE(view.guard.rollbacks.empty());
  EXPECT_TRUE(view.guard.active);
  EXPECT_GT(view.guard.controls, 0u);
  EXPECT_LE(view.guard.control_seconds, 0.003 * view.seconds_in_steps);
  EXPECT_EQ(view.sampled_steps, 0u);
  EXPECT_EQ(client.planned_width(1), 1);
}

TEST(SessionGuard, RollsBackPlanUnderLoadAndSearchesAgainLater) {
  Session session(options_for(4));
  SimulatedClient client(session, steered_program(), {});
  ASSERT_TRUE(client.run_until_tuned(400));
  client.run_steps(60);
  ASSERT_EQ(client.planned_width(1), 1);
  client.replace_program(under_load());
  client.run_steps(60);
  ASSERT_EQ(session.view().guard.rollbacks.size(), 1u);
  EXPECT_EQ(client.planned_width(1), 4);
  // Gone again: at the program's default widths it shows as a change of level, and is searched for
  // when a hundredth of the time allows it.
  client.replace_program(steered_program());
  client.run_steps(2500);
  EXPECT_EQ(client.planned_width(1), 1);
  EXPECT_EQ(session.view().phase, Phase::kTuned);
}

TEST(SessionGuard, RunsControlsWhenSurroundingsChange) {
  Session session(options_for(4));
  SimulatedClient client(session, steered_program(), {});
  ASSERT_TRUE(client.run_until_tuned(400));
  client.run_steps(30);
  const uint32_t before = session.view().guard.controls;
  session.on_surroundings_changed();
  client.run_steps(6);
  EXPECT_EQ(session.view().guard.controls, before + 2);
}

TEST(SessionGuard, RunsNoControlsWhenDisabled) {
  SessionOptions options = replaying(poisoned(tuned_once(steered_program())));
  options.guard = false;
  Session session(options);
  SimulatedClient client(session, steered_program(), {});
  client.run_steps(600);
  EXPECT_EQ(session.view().guard.controls, 0u);
  EXPECT_TRUE(session.view().plan_replayed);
}

TEST(SessionGuard, DropsEntryDisabledByClientFromPlanAndStore) {
  Session session(options_for(4));
  SimulatedClient client(session, steered_program(), {});
  ASSERT_TRUE(client.run_until_tuned(400));
  ASSERT_TRUE(session.take_settled().has_value());
  client.run_steps(5);
  session.on_entry_disabled({1001, 0}, perfmodel::Nanoseconds(4'000'000),
                            perfmodel::Nanoseconds(3'000'000));
  client.run_steps(3);
  EXPECT_EQ(client.planned_width(1), 4);
  EXPECT_NE(client.planned_width(2), 4) << "the others stay";
  const SessionView view = session.view();
  ASSERT_EQ(view.guard.rollbacks.size(), 1u);
  EXPECT_EQ(view.guard.rollbacks[0].what, "op1");
  const std::optional<Session::Settled> again = session.take_settled();
  ASSERT_TRUE(again.has_value());
  for (const StoredEntry& entry : again->plan.entries) {
    if (entry.place.key == 1001) {
      EXPECT_EQ(entry.rule, Rule::kRolledBack);
    }
  }
}

TEST(SessionGuard, WidthsUndoneByUserStayUndone) {
  Session session(options_for(4));
  SimulatedClient client(session, steered_program(), {});
  ASSERT_TRUE(client.run_until_tuned(400));
  client.run_steps(5);
  session.undo(1001);
  client.run_steps(3);
  EXPECT_EQ(client.planned_width(1), 4);
  EXPECT_NE(client.planned_width(2), 4);
  session.undo(0);
  client.run_steps(3);
  for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(client.planned_width(i), 4);
  EXPECT_TRUE(session.take_forgotten());
  client.set_default_width(3);
  client.run_steps(2000);
  EXPECT_EQ(session.view().phase, Phase::kTuned);
  EXPECT_TRUE(client.page()->entries.empty()) << "nothing is searched any more";
}

TEST(SessionGuard, UndoEndsRunningSearch) {
  Session session(options_for(4));
  SimulatedClient client(session, steered_program(), {});
  client.run_steps(12);
  session.undo(0);
  client.run_steps(200);
  EXPECT_EQ(session.view().phase, Phase::kTuned);
  EXPECT_TRUE(client.page()->entries.empty());
}

TEST(SessionGuard, RecordsControlStepsAsSpeedupBaseline) {
  Session session(options_for(4));
  SimulatedClient client(session, steered_program(), {});
  ASSERT_TRUE(client.run_until_tuned(400));
  const SessionView view = session.view();
  EXPECT_GT(view.control_steps.count(), 3u);
  EXPECT_LE(view.control_steps.count(), view.own_steps.count());
}

}  // namespace
}  // namespace optile::tuner
