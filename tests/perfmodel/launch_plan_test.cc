#include "perfmodel/launch_plan.h"

#include <gtest/gtest.h>

namespace optile::perfmodel {
namespace {

LaunchFacts two_pools() {
  LaunchFacts facts;
  facts.blas_provider = "openblas-pthread";
  facts.libomp_path = "/usr/lib/libomp.so.5";
  facts.libomp_suitable = true;
  facts.uses_openmp = true;
  facts.budget_cores = 4;
  return facts;
}

TEST(LaunchPlan, TwoSpinningPoolsAreSeparated) {
  const LaunchPlan plan = choose_launch_plan(two_pools(), {});
  EXPECT_TRUE(plan.preload_libomp);
  EXPECT_EQ(plan.environment.at("KMP_BLOCKTIME"), "1");
  EXPECT_TRUE(plan.blas_follows);
  EXPECT_FALSE(plan.reasons.empty());
}

TEST(LaunchPlan, TheUsersWordsBind) {
  LaunchFacts facts = two_pools();
  facts.user_environment = {{"OMP_WAIT_POLICY", "active"}, {"OPENBLAS_NUM_THREADS", "2"}};
  const LaunchPlan plan = choose_launch_plan(facts, {});
  EXPECT_TRUE(plan.environment.empty());
  EXPECT_FALSE(plan.blas_follows);
}

TEST(LaunchPlan, KeepMeansKeep) {
  LaunchFacts facts = two_pools();
  facts.openmp = OpenmpChoice::kKeep;
  facts.wait = WaitChoice::kKeep;
  facts.blas = BlasChoice::kKeep;
  const LaunchPlan plan = choose_launch_plan(facts, {});
  EXPECT_FALSE(plan.preload_libomp);
  EXPECT_TRUE(plan.environment.empty());
  EXPECT_EQ(plan.text, "openmp=keep wait=keep blas=keep");
}

TEST(LaunchPlan, LibompOnlyWhereEveryEntryPointIsThere) {
  LaunchFacts facts = two_pools();
  facts.libomp_suitable = false;
  facts.libomp_obstacle = "libx.so needs GOMP_teams4, which libomp lacks";
  const LaunchPlan plan = choose_launch_plan(facts, {});
  EXPECT_FALSE(plan.preload_libomp);
  EXPECT_NE(plan.reasons.front().find("GOMP_teams4"), std::string::npos);
}

TEST(LaunchPlan, AnUnknownProgramKeepsItsRuntime) {
  LaunchFacts facts = two_pools();
  facts.uses_openmp = false;
  const LaunchPlan plan = choose_launch_plan(facts, {});
  EXPECT_EQ(plan.text, "openmp=keep wait=keep blas=keep");
  EXPECT_TRUE(plan.environment.empty());
  facts.openmp = OpenmpChoice::kLlvm;
  EXPECT_TRUE(choose_launch_plan(facts, {}).preload_libomp) << "asked for";
}

TEST(LaunchPlan, OpsThatAreResizedAllTheTimeGetTheRuntimeThatResizesCheaply) {
  LaunchFacts facts = two_pools();
  facts.blas_provider = "reference";
  facts.resizes_teams = true;
  const LaunchPlan plan = choose_launch_plan(facts, {});
  EXPECT_TRUE(plan.preload_libomp);
  EXPECT_FALSE(plan.blas_follows);
}

TEST(LaunchPlan, APlanThatLostAgainstTheUntouchedRunIsTakenBack) {
  const std::string ours = choose_launch_plan(two_pools(), {}).text;
  const LaunchPlan kept =
      choose_launch_plan(two_pools(), {{"", 1.0, 0.02, 30, false}, {ours, 1.3, 0.02, 30, true}});
  EXPECT_FALSE(kept.preload_libomp);
  EXPECT_NE(kept.reasons.back().find("taken back"), std::string::npos);

  const LaunchPlan stays =
      choose_launch_plan(two_pools(), {{"", 1.0, 0.02, 30, false}, {ours, 1.01, 0.02, 30, true}});
  EXPECT_TRUE(stays.preload_libomp);  // within the spreads: not settled
}

}  // namespace
}  // namespace optile::perfmodel
