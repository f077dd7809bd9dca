// What share of its steps is seen, whatever a program does in its first ones.
#include "tuner/statistics/coverage.h"

#include <gtest/gtest.h>

namespace optile::tuner {
namespace {

using std::chrono::milliseconds;

// Steps of so many milliseconds, of which so many lie in ops that are seen, and half of those in
// such as can be steered.
void add(Coverage& coverage, int steps, int step_ms, int observed_ms) {
  for (int i = 0; i < steps; ++i) {
    coverage.add(milliseconds(step_ms), milliseconds(observed_ms), milliseconds(observed_ms) / 2);
  }
}

TEST(Coverage, IsZeroWithoutSteps) {
  EXPECT_EQ(Coverage().observed(), 0);
  EXPECT_EQ(Coverage().steerable(), 0);
  EXPECT_EQ(Coverage().seconds(), 0);
}

TEST(Coverage, IsShareOfStepTime) {
  Coverage coverage;
  add(coverage, 20, 100, 90);
  add(coverage, 20, 150, 90);
  EXPECT_NEAR(coverage.observed(), 180.0 / 250, 1e-9);
  EXPECT_NEAR(coverage.steerable(), 90.0 / 250, 1e-9);
  EXPECT_NEAR(coverage.seconds(), 5, 1e-9);
}

// A graph is compiled in the first step, its backward part in the second.
TEST(Coverage, ExcludesCompilationSteps) {
  Coverage coverage;
  add(coverage, 1, 20000, 100);
  add(coverage, 1, 8000, 100);
  add(coverage, 40, 100, 96);
  EXPECT_NEAR(coverage.observed(), 0.96, 1e-9);
  EXPECT_NEAR(coverage.seconds(), 32, 1e-9) << "they took that time nevertheless";
}

TEST(Coverage, ExcludesCompilationStepAfterQuickStep) {
  Coverage coverage;
  add(coverage, 1, 90, 90);
  add(coverage, 1, 20000, 100);
  add(coverage, 40, 100, 96);
  EXPECT_NEAR(coverage.observed(), 0.96, 1e-9);
}

// Until some follow nobody knows which of them are unlike the others.
TEST(Coverage, IncludesFirstStepsWhileFewFollow) {
  Coverage coverage;
  add(coverage, 1, 300, 30);
  add(coverage, 2, 100, 100);
  EXPECT_NEAR(coverage.observed(), 230.0 / 500, 1e-9);
  add(coverage, 1, 100, 100);
  EXPECT_NEAR(coverage.observed(), 1, 1e-9);
}

// A validation pass or a checkpoint comes again: it is what the program does.
TEST(Coverage, IncludesLaterSlowSteps) {
  Coverage coverage;
  add(coverage, 20, 100, 100);
  add(coverage, 1, 2000, 0);
  add(coverage, 20, 100, 100);
  EXPECT_NEAR(coverage.observed(), 4000.0 / 6000, 1e-9);
}

}  // namespace
}  // namespace optile::tuner
