#include "bindings/cli/run/advice.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace optile::cli {
namespace {

using testing::HasSubstr;
using testing::Not;

AdviceFacts facts() {
  AdviceFacts facts;
  facts.command = {"python3", "train.py", "--name", "it's a run"};
  facts.program = "train.py";
  facts.step_seconds = 0.184;
  facts.libomp_path = "/usr/lib/libomp.so.5";
  facts.budget_cores = 6;
  facts.plan.preload_libomp = true;
  facts.plan.environment = {{"KMP_BLOCKTIME", "1"}};
  facts.plan.reasons = {"idle OpenMP threads sleep after 1 ms instead of 200 ms"};
  return facts;
}

TEST(Advice, PrintsPastableShellLines) {
  const std::string text = advice_text(facts());
  EXPECT_THAT(text,
              HasSubstr("optile: advice for train.py; nothing was changed in this run (184 ms"));
  EXPECT_THAT(text,
              HasSubstr("export LD_PRELOAD=/usr/lib/libomp.so.5${LD_PRELOAD:+:$LD_PRELOAD}\n"));
  EXPECT_THAT(text, HasSubstr("export KMP_BLOCKTIME=1\n"));
  EXPECT_THAT(text, HasSubstr("export OMP_NUM_THREADS=6  # the cores"));
  EXPECT_THAT(text, HasSubstr("optile run -- python3 train.py --name 'it'\\''s a run'\n"));
  EXPECT_THAT(text, HasSubstr("# no widths were tried yet"));
}

TEST(Advice, RepeatsTypedFlagsWithoutExports) {
  AdviceFacts bound = facts();
  bound.omp_num_threads_set = true;
  bound.plan = {};
  bound.typed.openmp = "keep";
  const std::string text = advice_text(bound);
  EXPECT_THAT(text, Not(HasSubstr("export")));
  EXPECT_THAT(text, HasSubstr("optile run --openmp keep -- python3"));
}

TEST(Advice, AsUntunedNumericsExportNoThreadCount) {
  AdviceFacts same = facts();
  same.as_untuned = true;
  same.plan = {};
  const std::string text = advice_text(same);
  EXPECT_THAT(text, Not(HasSubstr("export")));
  EXPECT_THAT(text, HasSubstr("optile run --numerics as-untuned -- python3"));
}

TEST(Advice, ReportsWidthsOfEarlierRun) {
  AdviceFacts known = facts();
  known.has_stored = true;
  known.stored = {2, 40, 0.2, 0.1};
  std::string text = advice_text(known);
  EXPECT_THAT(text, HasSubstr("export OMP_NUM_THREADS=2  # the best single width"));
  EXPECT_THAT(text, HasSubstr("better widths for 40 ops"));
  EXPECT_THAT(text, HasSubstr("100 ms a step with them, 200 ms a step without"));
  known.stored = {0, 0, 0.2, 0.2};
  text = advice_text(known);
  EXPECT_THAT(text, HasSubstr("no width better than the program's own"));
}

}  // namespace
}  // namespace optile::cli
