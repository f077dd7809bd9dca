// A program that says itself where its steps end.
#include <gtest/gtest.h>

#include "tests/tuner/session/simulated_client.h"
#include "tests/tuner/session/simulated_programs.h"

namespace optile::tuner {
namespace {

TEST(SessionDeclaredSteps, DetermineStepCount) {
  Session session(options_for(4));
  SimulatedClient client(session, wide_program(), {});
  client.run_steps(20);
  EXPECT_NE(session.view().steps, 7u);
  session.on_declared_steps(7);
  EXPECT_EQ(session.view().steps, 7u);
  client.run_steps(20);
  session.on_declared_steps(14);
  EXPECT_EQ(session.view().steps, 14u);
}

}  // namespace
}  // namespace optile::tuner
