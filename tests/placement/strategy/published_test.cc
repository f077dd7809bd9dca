#include <gtest/gtest.h>

#include "placement/import/importer.h"
#include "placement/strategy/iopddl_reader.h"
#include "placement/strategy/solver.h"
#include "small_problems.h"

namespace optile::placement {
namespace {

// A published problem of 816 nodes whose optimum was proven elsewhere too.
TEST(PublishedProblem, IsSolvedToProvenOptimum) {
  const auto text = read_whole_file(OPTILE_PLACEMENT_DATA "/iopddl_b.json.gz");
  ASSERT_TRUE(text.ok()) << text.message();
  ASSERT_TRUE(looks_like_iopddl(text.value()));
  const auto problem = read_iopddl(text.value());
  ASSERT_TRUE(problem.ok()) << problem.message();
  Budget budget({.evaluations = 2000});
  const auto answer = solve_strategy(problem.value(), {}, budget);
  ASSERT_TRUE(answer.ok()) << answer.message();
  EXPECT_EQ(answer.value().cost, 532843);
  EXPECT_EQ(answer.value().lower_bound, 532843);
  const StrategyChoice choice(answer.value().assignment.begin(), answer.value().assignment.end());
  EXPECT_EQ(testing::naive_cost(problem.value(), choice), 532843);
}

}  // namespace
}  // namespace optile::placement
