#include "perfmodel/profile/launch_plan.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

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

TEST(LaunchPlan, PreloadsLibompForTwoSpinningPools) {
  const LaunchPlan plan = choose_launch_plan(two_pools(), {});
  EXPECT_TRUE(plan.preload_libomp);
  EXPECT_EQ(plan.environment.at("KMP_BLOCKTIME"), "1");
  EXPECT_TRUE(plan.blas_follows);
  EXPECT_FALSE(plan.reasons.empty());
}

TEST(LaunchPlan, BlasPoolWithoutOpenMpFollowsItsOps) {
  LaunchFacts facts = two_pools();
  facts.uses_openmp = false;
  const LaunchPlan plan = choose_launch_plan(facts, {});
  EXPECT_EQ(plan.text, "openmp=keep wait=keep blas=follow");
  EXPECT_TRUE(plan.environment.empty());
  facts.user_environment = {{"OPENBLAS_NUM_THREADS", "2"}};
  EXPECT_FALSE(choose_launch_plan(facts, {}).blas_follows);
}

TEST(LaunchPlan, LaterBlasPoolFollowsUnlessUserKeepsOrSizesIt) {
  LaunchFacts facts = two_pools();
  EXPECT_TRUE(blas_pools_follow(facts, choose_launch_plan(facts, {})));
  LaunchPlan lost;
  lost.text = "openmp=keep wait=keep blas=keep";
  EXPECT_FALSE(blas_pools_follow(facts, lost)) << "it was known, and is kept";
  for (const char* provider : {"openblas-openmp", "reference", "none"}) {
    facts.blas_provider = provider;
    const LaunchPlan plan = choose_launch_plan(facts, {});
    EXPECT_FALSE(plan.blas_follows) << "nothing to say yet";
    EXPECT_TRUE(blas_pools_follow(facts, plan)) << provider;
  }
  LaunchFacts keeps = facts;
  keeps.blas = BlasChoice::kKeep;
  EXPECT_FALSE(blas_pools_follow(keeps, choose_launch_plan(keeps, {})));
  for (const char* word : {"OPENBLAS_NUM_THREADS", "GOTO_NUM_THREADS"}) {
    LaunchFacts sizes = facts;
    sizes.user_environment = {{word, "2"}};
    EXPECT_FALSE(blas_pools_follow(sizes, choose_launch_plan(sizes, {}))) << word;
  }
}

TEST(LaunchPlan, RespectsUserEnvironment) {
  LaunchFacts facts = two_pools();
  facts.user_environment = {{"OMP_WAIT_POLICY", "active"}, {"OPENBLAS_NUM_THREADS", "2"}};
  const LaunchPlan plan = choose_launch_plan(facts, {});
  EXPECT_TRUE(plan.environment.empty());
  EXPECT_FALSE(plan.blas_follows);
}

TEST(LaunchPlan, ShortensLibgompSpinningBesideOtherClients) {
  LaunchFacts facts = two_pools();
  facts.blas_provider = "none";
  facts.libomp_suitable = false;
  EXPECT_EQ(choose_launch_plan(facts, {}).text, "openmp=keep wait=keep blas=keep");
  facts.beside_others = true;
  const LaunchPlan plan = choose_launch_plan(facts, {});
  EXPECT_EQ(plan.text, "openmp=keep wait=short blas=keep");
  EXPECT_TRUE(plan.environment.contains("GOMP_SPINCOUNT"));
  EXPECT_TRUE(plan.wait_follows);
  facts.user_environment = {{"GOMP_SPINCOUNT", "infinite"}};
  EXPECT_TRUE(choose_launch_plan(facts, {}).environment.empty());
  EXPECT_FALSE(choose_launch_plan(facts, {}).wait_follows);
}

TEST(LaunchPlan, PreloadsLibompForFixedTeamBesideOtherClients) {
  LaunchFacts facts = two_pools();
  facts.blas_provider = "none";
  facts.beside_others = true;
  const LaunchPlan plan = choose_launch_plan(facts, {});
  EXPECT_EQ(plan.text, "openmp=llvm wait=keep blas=keep");
  EXPECT_TRUE(plan.preload_libomp);
  EXPECT_TRUE(plan.wait_follows);
  EXPECT_TRUE(plan.environment.empty()) << "its cores are its own: it may spin";
  facts.user_environment = {{"OMP_WAIT_POLICY", "active"}};
  EXPECT_FALSE(choose_launch_plan(facts, {}).wait_follows);
  facts.user_environment = {{"GOMP_CPU_AFFINITY", "0-3"}};
  EXPECT_FALSE(choose_launch_plan(facts, {}).preload_libomp);
  facts.user_environment = {};
  facts.blas_provider = "openblas-pthread";
  EXPECT_EQ(choose_launch_plan(facts, {}).environment.at("KMP_BLOCKTIME"), "1");
}

TEST(LaunchPlan, KeepsRuntimeWhenEnvironmentBindsThreads) {
  for (const auto& [name, value] :
       std::vector<std::pair<std::string, std::string>>{{"OMP_PROC_BIND", "close"},
                                                        {"OMP_PROC_BIND", "TRUE"},
                                                        {"OMP_PLACES", "cores"},
                                                        {"GOMP_CPU_AFFINITY", "0-3"},
                                                        {"KMP_AFFINITY", "compact"}}) {
    LaunchFacts facts = two_pools();
    facts.resizes_teams = true;
    facts.user_environment = {{name, value}};
    EXPECT_TRUE(binds_threads(facts.user_environment)) << name;
    EXPECT_FALSE(choose_launch_plan(facts, {}).preload_libomp) << name;
    facts.openmp = OpenmpChoice::kLlvm;
    EXPECT_TRUE(choose_launch_plan(facts, {}).preload_libomp) << name << ": asked for by name";
  }
  for (const auto& [name, value] :
       std::vector<std::pair<std::string, std::string>>{{"OMP_PROC_BIND", "False"},
                                                        {"OMP_PLACES", ""},
                                                        {"KMP_AFFINITY", "none"},
                                                        {"OMP_NUM_THREADS", "4"}}) {
    EXPECT_FALSE(binds_threads({{name, value}})) << name;
  }
}

TEST(LaunchPlan, ShortensSpinningOfTwoPoolsBesideOtherClients) {
  LaunchFacts facts = two_pools();
  facts.libomp_suitable = false;
  EXPECT_FALSE(choose_launch_plan(facts, {}).environment.contains("GOMP_SPINCOUNT"));
  facts.beside_others = true;
  EXPECT_TRUE(choose_launch_plan(facts, {}).environment.contains("GOMP_SPINCOUNT"));
}

TEST(LaunchPlan, KeepChoicesLeaveEverythingUnchanged) {
  LaunchFacts facts = two_pools();
  facts.openmp = OpenmpChoice::kKeep;
  facts.wait = WaitChoice::kKeep;
  facts.blas = BlasChoice::kKeep;
  const LaunchPlan plan = choose_launch_plan(facts, {});
  EXPECT_FALSE(plan.preload_libomp);
  EXPECT_TRUE(plan.environment.empty());
  EXPECT_EQ(plan.text, "openmp=keep wait=keep blas=keep");
}

LaunchFacts renewing() {
  LaunchFacts facts;
  facts.renews_blocks = true;
  return facts;
}

TEST(LaunchPlan, RetainsHeapOfProgramThatRenewsBlocks) {
  const LaunchPlan plan = choose_launch_plan(renewing(), {});
  EXPECT_EQ(plan.text, "openmp=keep wait=keep blas=keep heap=256MiB");
  EXPECT_EQ(plan.environment.at("MALLOC_MMAP_THRESHOLD_"), std::to_string(32 << 20));
  EXPECT_EQ(plan.environment.at("MALLOC_TRIM_THRESHOLD_"), std::to_string(256 << 20));
  EXPECT_NE(plan.reasons.back().find("256 MiB"), std::string::npos);
  EXPECT_EQ(choose_launch_plan(two_pools(), {}).environment.count("MALLOC_TRIM_THRESHOLD_"), 0u)
      << "nothing is known of this one";
}

TEST(LaunchPlan, KeepsMallocSetUpByUser) {
  LaunchFacts facts = renewing();
  facts.sets_up_malloc = true;
  const LaunchPlan plan = choose_launch_plan(facts, {});
  EXPECT_EQ(plan.text, "openmp=keep wait=keep blas=keep");
  EXPECT_TRUE(plan.environment.empty());
  EXPECT_NE(plan.reasons.back().find("you set up malloc"), std::string::npos);
  LaunchFacts kept = renewing();
  kept.heap = HeapChoice::kKeep;
  EXPECT_EQ(choose_launch_plan(kept, {}).text, "openmp=keep wait=keep blas=keep");
}

TEST(LaunchPlan, RevertsHeapSettingThatWasSlower) {
  const std::string held = "openmp=keep wait=keep blas=keep heap=256MiB";
  const std::string kept = "openmp=keep wait=keep blas=keep";
  const LaunchPlan plan =
      choose_launch_plan(renewing(), {{held, 1.2, 0.01, 20}, {kept, 1.0, 0.01, 20}});
  EXPECT_EQ(plan.text, kept);
  EXPECT_TRUE(plan.environment.empty());
  EXPECT_EQ(plan.taken_back, held);
  EXPECT_EQ(choose_launch_plan(renewing(), {{kept, 1.2, 0.01, 20}, {held, 1.0, 0.01, 20}}).text,
            held);
}

TEST(LaunchPlan, KeepsRuntimeWhenLibompLacksEntryPoint) {
  LaunchFacts facts = two_pools();
  facts.libomp_suitable = false;
  facts.libomp_obstacle = "libx.so needs GOMP_teams4, which libomp lacks";
  const LaunchPlan plan = choose_launch_plan(facts, {});
  EXPECT_FALSE(plan.preload_libomp);
  EXPECT_NE(plan.reasons.front().find("GOMP_teams4"), std::string::npos);
}

TEST(LaunchPlan, KeepsRuntimeUnlessOpenMpIsUsedOrRequested) {
  LaunchFacts facts = two_pools();
  facts.uses_openmp = false;
  const LaunchPlan plan = choose_launch_plan(facts, {});
  EXPECT_EQ(plan.text, "openmp=keep wait=keep blas=follow");
  EXPECT_TRUE(plan.environment.empty());
  facts.openmp = OpenmpChoice::kLlvm;
  EXPECT_TRUE(choose_launch_plan(facts, {}).preload_libomp) << "asked for";
}

TEST(LaunchPlan, PreloadsLibompForProgramThatResizesTeams) {
  LaunchFacts facts = two_pools();
  facts.blas_provider = "reference";
  facts.resizes_teams = true;
  const LaunchPlan plan = choose_launch_plan(facts, {});
  EXPECT_TRUE(plan.preload_libomp);
  EXPECT_FALSE(plan.blas_follows);
}

TEST(LaunchPlan, RevertsPlanSlowerThanUntouchedRun) {
  const std::string ours = choose_launch_plan(two_pools(), {}).text;
  const LaunchPlan kept =
      choose_launch_plan(two_pools(), {{"", 1.0, 0.02, 30, false}, {ours, 1.3, 0.02, 30, true}});
  EXPECT_FALSE(kept.preload_libomp);
  EXPECT_NE(kept.reasons.back().find("taken back"), std::string::npos);

  const LaunchPlan stays =
      choose_launch_plan(two_pools(), {{"", 1.0, 0.02, 30, false}, {ours, 1.01, 0.02, 30, true}});
  EXPECT_TRUE(stays.preload_libomp);  // within the spreads: not settled
}

constexpr const char* kOther = "openmp=llvm wait=keep blas=follow";

// Newest first.
TEST(LaunchPlan, UsesFasterMeasuredPlan) {
  const std::string ours = choose_launch_plan(two_pools(), {}).text;
  const LaunchPlan plan =
      choose_launch_plan(two_pools(), {{kOther, 0.7, 0.02, 30, true}, {ours, 1.0, 0.02, 30, true}});
  EXPECT_EQ(plan.text, kOther);
  EXPECT_FALSE(plan.environment.contains("KMP_BLOCKTIME"));
  EXPECT_TRUE(plan.taken_back.empty()) << "the rule's plan was not the latest";
}

// Believed once, whatever made it look good; its next run tells the truth.
TEST(LaunchPlan, RevertsWrongPlanAndReportsLoss) {
  const std::string ours = choose_launch_plan(two_pools(), {}).text;
  const LaunchPlan plan = choose_launch_plan(
      two_pools(),
      {{kOther, 4.0, 0.02, 30, true}, {kOther, 0.1, 0.02, 30, true}, {ours, 1.0, 0.02, 30, true}});
  EXPECT_EQ(plan.text, ours);
  EXPECT_EQ(plan.taken_back, kOther);
  EXPECT_NEAR(plan.loss_seconds, 3.0, 1e-9);
  EXPECT_NE(plan.reasons.back().find("300 % more"), std::string::npos);
}

TEST(LaunchPlan, FasterRunDoesNotOverrideUserChoice) {
  LaunchFacts facts = two_pools();
  const std::string by_rule = choose_launch_plan(facts, {}).text;
  facts.wait = WaitChoice::kKeep;
  const std::string ours = choose_launch_plan(facts, {}).text;
  ASSERT_NE(ours, by_rule);
  const LaunchPlan plan =
      choose_launch_plan(facts, {{by_rule, 0.7, 0.02, 30, true}, {ours, 1.0, 0.02, 30, true}});
  EXPECT_EQ(plan.text, ours);
  facts = two_pools();
  facts.libomp_suitable = false;
  EXPECT_FALSE(choose_launch_plan(facts, {{kOther, 0.7, 0.02, 30, true},
                                          {"openmp=keep wait=keep blas=follow", 1, 0.02, 30, true}})
                   .preload_libomp);
}

TEST(LaunchPlan, IgnoresSmallDifferences) {
  const std::string ours = choose_launch_plan(two_pools(), {}).text;
  const LaunchPlan plan = choose_launch_plan(
      two_pools(), {{kOther, 0.97, 0.01, 30, true}, {ours, 1.0, 0.01, 30, true}});
  EXPECT_EQ(plan.text, ours);
  EXPECT_TRUE(plan.taken_back.empty());
}

TEST(LaunchPlan, IgnoresRunsOfTooFewSteps) {
  const std::string ours = choose_launch_plan(two_pools(), {}).text;
  const LaunchPlan plan =
      choose_launch_plan(two_pools(), {{kOther, 0.1, 0, 2, true}, {ours, 1.0, 0.01, 30, true}});
  EXPECT_EQ(plan.text, ours);
}

TEST(LaunchPlan, IgnoresUnknownPlanNames) {
  const std::string ours = choose_launch_plan(two_pools(), {}).text;
  for (const char* text : {"undone", "openmp=", "openmp=llvm wait=9 blas=x", "\n"}) {
    const LaunchPlan plan =
        choose_launch_plan(two_pools(), {{text, 0.1, 0, 30, true}, {ours, 1.0, 0.01, 30, true}});
    EXPECT_EQ(plan.text, ours) << text;
  }
}

}  // namespace
}  // namespace optile::perfmodel
