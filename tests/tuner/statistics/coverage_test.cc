// What share of its steps is seen, whatever a program does in its first ones.
#include "tuner/statistics/coverage.h"

#include <gtest/gtest.h>

#include <initializer_list>

namespace optile::tuner {
namespace {

using std::chrono::milliseconds;

// So many steps of so many milliseconds, of which so many lie in ops that are seen, and half of
// those in such as can be steered.
struct Steps {
  int count, ms, observed_ms;
};

void add(Coverage& coverage, const Steps& steps) {
  for (int i = 0; i < steps.count; ++i) {
    coverage.add(milliseconds(steps.ms), milliseconds(steps.observed_ms),
                 milliseconds(steps.observed_ms) / 2);
  }
}

Coverage coverage_of(std::initializer_list<Steps> all) {
  Coverage coverage;
  for (const Steps& steps : all) add(coverage, steps);
  return coverage;
}

TEST(Coverage, IsZeroWithoutSteps) {
  EXPECT_EQ(Coverage().observed(), 0);
  EXPECT_EQ(Coverage().steerable(), 0);
  EXPECT_EQ(Coverage().seconds(), 0);
}

TEST(Coverage, IsShareOfStepTime) {
  const Coverage coverage = coverage_of({{20, 100, 90}, {20, 150, 90}});
  EXPECT_NEAR(coverage.observed(), 180.0 / 250, 1e-9);
  EXPECT_NEAR(coverage.steerable(), 90.0 / 250, 1e-9);
  EXPECT_NEAR(coverage.seconds(), 5, 1e-9);
}

// A graph is compiled in the first step, its backward part in the second.
TEST(Coverage, ExcludesCompilationSteps) {
  const Coverage coverage = coverage_of({{1, 20000, 100}, {1, 8000, 100}, {40, 100, 96}});
  EXPECT_NEAR(coverage.observed(), 0.96, 1e-9);
  EXPECT_NEAR(coverage.seconds(), 32, 1e-9) << "they took that time nevertheless";
}

TEST(Coverage, ExcludesCompilationStepAfterQuickStep) {
  const Coverage coverage = coverage_of({{1, 90, 90}, {1, 20000, 100}, {40, 100, 96}});
  EXPECT_NEAR(coverage.observed(), 0.96, 1e-9);
}

// Until some follow nobody knows which of them are unlike the others.
TEST(Coverage, IncludesFirstStepsWhileFewFollow) {
  Coverage coverage = coverage_of({{1, 300, 30}, {2, 100, 100}});
  EXPECT_NEAR(coverage.observed(), 230.0 / 500, 1e-9);
  add(coverage, {1, 100, 100});
  EXPECT_NEAR(coverage.observed(), 1, 1e-9);
}

// A validation pass or a checkpoint comes again: it is what the program does.
TEST(Coverage, IncludesLaterSlowSteps) {
  const Coverage coverage = coverage_of({{20, 100, 100}, {1, 2000, 0}, {20, 100, 100}});
  EXPECT_NEAR(coverage.observed(), 4000.0 / 6000, 1e-9);
}

}  // namespace
}  // namespace optile::tuner
