// A session whose program issues ops from several threads at the same time: only one of them is
// heard, and what it does beside others says nothing about widths.
#include <gtest/gtest.h>

#include "tests/tuner/session/simulated_client.h"
#include "tests/tuner/session/simulated_programs.h"

namespace optile::tuner {
namespace {

SimulatedClientOptions overlapped(double share) {
  SimulatedClientOptions options;
  options.overlap = share;
  return options;
}

// fault: F27
TEST(SessionWithConcurrentIssuers, RunsNoSearchAndChangesNoWidth) {
  Session session(options_for(4));
  SimulatedClient client(session, mixed_program(), overlapped(1));
  client.run_steps(120);
  const SessionView view = session.view();
  EXPECT_EQ(view.phase, Phase::kTuned);
  EXPECT_NE(view.decision.find("several threads"), std::string::npos) << view.decision;
  EXPECT_EQ(view.samples, 0u);
  EXPECT_EQ(view.sampled_steps, 0u);
  EXPECT_GT(view.steps, 100u) << "its steps are counted all the same";
  for (const OpView& op : view.ops) EXPECT_EQ(op.width, 0);
  for (const SimulatedOp& op : mixed_program().ops) {
    for (int width = 1; width < 4; ++width) EXPECT_EQ(client.runs_of(op.key, width), 0);
  }
  EXPECT_FALSE(session.take_settled());
  EXPECT_TRUE(session.step_seconds_by_cores(4).empty()) << "no curve for the leases";
}

TEST(SessionWithConcurrentIssuers, StopsSearchWhenSecondIssuerAppears) {
  Session session(options_for(4));
  SimulatedClient client(session, mixed_program(), {});
  while (session.view().phase != Phase::kExploring) client.run_steps(1);
  client.run_steps(2);
  client.set_overlapped(1);
  client.run_steps(60);
  EXPECT_EQ(session.view().phase, Phase::kTuned);
  EXPECT_NE(session.view().decision.find("several threads"), std::string::npos);
  for (const OpView& op : session.view().ops) EXPECT_EQ(op.width, 0);
}

TEST(SessionWithConcurrentIssuers, SearchesOnceOneIssuerRemains) {
  Session session(options_for(4));
  SimulatedClient client(session, mixed_program(), overlapped(1));
  client.run_steps(60);
  ASSERT_EQ(session.view().phase, Phase::kTuned);
  client.set_overlapped(0);
  client.run_steps(40);
  ASSERT_TRUE(client.run_until_tuned(400));
  EXPECT_GT(session.view().samples, 0u);
  EXPECT_LT(client.planned_step_ns(), client.uniform_step_ns(4));
}

TEST(SessionWithConcurrentIssuers, KeepsPlanSettledWithOneIssuer) {
  Session session(options_for(4));
  SimulatedClient client(session, mixed_program(), {});
  ASSERT_TRUE(client.run_until_tuned(400));
  const double planned = client.planned_step_ns();
  ASSERT_LT(planned, client.uniform_step_ns(4));
  const uint32_t controls = session.view().guard.controls;
  client.set_overlapped(1);
  client.run_steps(400);
  EXPECT_EQ(client.planned_step_ns(), planned);
  EXPECT_TRUE(session.view().guard.rollbacks.empty());
  EXPECT_LE(session.view().guard.controls, controls + 8) << "a page that was under way";
}

TEST(SessionWithConcurrentIssuers, TunesDespiteOccasionalSecondIssuer) {
  Session session(options_for(4));
  SimulatedClient client(session, mixed_program(), overlapped(0.03));
  ASSERT_TRUE(client.run_until_tuned(600));
  EXPECT_LT(client.planned_step_ns(), client.uniform_step_ns(4));
}

TEST(SessionWithConcurrentIssuers, RecognisesStepOfNewIssuer) {
  Session session(options_for(4));
  SimulatedClient client(session, wide_program(), {});
  ASSERT_TRUE(client.run_until_tuned(400));
  session.on_issuer_changed();
  client.replace_program(mixed_program());
  client.run_steps(400);
  EXPECT_EQ(session.view().ops.size(), mixed_program().ops.size());
  EXPECT_LT(client.planned_step_ns(), client.uniform_step_ns(4));
}

}  // namespace
}  // namespace optile::tuner
