// When a session lets its client pause sampling, which then reports a few of its steps only.
#include <gtest/gtest.h>

#include "tests/tuner/session/simulated_client.h"
#include "tests/tuner/session/simulated_programs.h"

namespace optile::tuner {
namespace {

TEST(SessionRest, IsAllowedOnlyAtDefaultWidths) {
  Session wide(options_for(4));
  SimulatedClient wide_client(wide, wide_program(), {});
  ASSERT_TRUE(wide_client.run_until_tuned(400));
  EXPECT_FALSE(wide_client.page()->may_pause_sampling) << "before its steps were heard";
  wide_client.run_steps(40);
  EXPECT_TRUE(wide_client.page()->may_pause_sampling);

  Session mixed(options_for(4));
  SimulatedClient mixed_client(mixed, mixed_program(), {});
  ASSERT_TRUE(mixed_client.run_until_tuned(400));
  mixed_client.run_steps(40);
  EXPECT_FALSE(mixed_client.page()->may_pause_sampling);
}

TEST(SessionRest, IsAllowedAtOneWidthForAllOps) {
  const auto narrow = [] { return table({90 * kMs, 10 * kMs, 14 * kMs, 15 * kMs}); };
  SimulatedProgram program = one_of_each({narrow(), narrow(), narrow()});
  Session session(options_for(4));
  SimulatedClient client(session, program, {});
  ASSERT_TRUE(client.run_until_tuned(400));
  EXPECT_FALSE(client.page()->may_pause_sampling) << "before its steps were heard";
  EXPECT_EQ(client.page()->default_width_cap, 0);
  bool paused = false;
  for (int i = 0; i < 40; ++i) {
    client.run_steps(1);
    if (!client.page()->may_pause_sampling) continue;
    paused = true;
    EXPECT_EQ(client.page()->default_width_cap, 2);
    EXPECT_TRUE(client.page()->entries.empty());
  }
  EXPECT_TRUE(paused);
  EXPECT_EQ(session.view().ops.front().width, 2);
}

// Half a millisecond of twenty is gained, two of them would be saved by not listening.
TEST(SessionRest, IsPreferredWhenListeningCostsMoreThanGain) {
  for (const int listening_ns : {0, 1'000'000}) {
    SimulatedProgram program =
        one_of_each({table({30 * kMs, 20 * kMs, 9.7 * kMs, 10.2 * kMs}), scaling(40 * kMs)});
    for (SimulatedOp& op : program.ops) op.listening = perfmodel::Nanoseconds(listening_ns);
    Session session(options_for(4));
    SimulatedClient client(session, program, {});
    ASSERT_TRUE(client.run_until_tuned(400));
    client.run_steps(40);
    EXPECT_EQ(client.page()->may_pause_sampling, listening_ns != 0) << session.view().decision;
  }
}

TEST(SessionRest, IsAllowedWhileObserving) {
  SessionOptions options = options_for(4);
  options.may_change_widths = false;
  Session session(options);
  SimulatedClient client(session, mixed_program(), {});
  client.run_steps(200);
  ASSERT_EQ(session.view().phase, Phase::kObserving);
  EXPECT_TRUE(client.page()->may_pause_sampling);
}

TEST(SessionRest, CountsUnsampledSteps) {
  SessionOptions options = options_for(4);
  options.may_change_widths = false;
  Session session(options);
  SimulatedClient client(session, mixed_program(), {});
  client.run_steps(200);
  const uint32_t before = session.view().steps;
  StepEvent event;
  event.plan = client.plan_number();
  event.duration = perfmodel::Nanoseconds(20'000'000);
  event.step = 1000;
  session.on_step(event);  // the shim's own numbers: whatever came before, it is far behind
  const uint32_t unsampled = session.view().unsampled_steps;
  event.step = 1063;
  session.on_step(event);
  EXPECT_EQ(session.view().unsampled_steps, unsampled + 62);
  EXPECT_EQ(session.view().steps, before + unsampled + 2 + 62);
  session.on_progress(1, 1074);  // paused again: the step after the latest event's has begun too
  EXPECT_EQ(session.view().unsampled_steps, unsampled + 62 + 10);
}

// It hears of the new page when it listens again.
TEST(SessionRest, CountsUnsampledStepsAcrossPageChange) {
  Session session(options_for(4));
  SimulatedClient client(session, wide_program(), {});
  ASSERT_TRUE(client.run_until_tuned(400));
  client.run_steps(40);
  ASSERT_TRUE(client.page()->may_pause_sampling);
  const uint64_t page = client.plan_number();
  StepEvent event;
  event.plan = page;
  event.duration = perfmodel::Nanoseconds(20'000'000);
  event.step = 1000;
  session.on_step(event);
  const uint32_t unsampled = session.view().unsampled_steps;
  session.set_cases(perfmodel::unbound_cases(2), 2);
  const std::optional<PlanDraft> next = session.take_plan(page + 1);
  ASSERT_TRUE(next);
  ASSERT_FALSE(next->may_pause_sampling);
  event.step = 1063;
  session.on_step(event);
  EXPECT_EQ(session.view().unsampled_steps, unsampled + 62);
  event.plan = page + 1;
  event.step = 1064;
  session.on_step(event);
  event.step = 1070;
  session.on_step(event);
  EXPECT_EQ(session.view().unsampled_steps, unsampled + 62) << "others count their steps, too";
}

}  // namespace
}  // namespace optile::tuner
