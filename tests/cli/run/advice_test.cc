#include "bindings/cli/run/advice.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/cli/fixtures/golden.h"

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

AdviceFacts bound_facts() {
  AdviceFacts bound = facts();
  bound.omp_num_threads_set = true;
  bound.plan = {};
  bound.typed.openmp = "keep";
  return bound;
}

AdviceFacts as_untuned_facts() {
  AdviceFacts same = facts();
  same.as_untuned = true;
  same.plan = {};
  return same;
}

AdviceFacts stored_facts(const StoredAdvice& stored) {
  AdviceFacts known = facts();
  known.has_stored = true;
  known.stored = stored;
  return known;
}

TEST(Advice, MatchesGoldenFile) {
  Golden golden("advise");
  golden.add("first run", advice_text(facts()));
  golden.add("bound by the user", advice_text(bound_facts()));
  golden.add("as untuned", advice_text(as_untuned_facts()));
  golden.add("after a tuned run", advice_text(stored_facts({2, 40, 0.2, 0.1})));
  golden.add("after a run that found nothing", advice_text(stored_facts({0, 0, 0.2, 0.2})));
  golden.check();
}

TEST(Advice, PrintsPastableShellLines) {
  const std::string text = advice_text(facts());
  EXPECT_THAT(text,
              HasSubstr("  export LD_PRELOAD=/usr/lib/libomp.so.5${LD_PRELOAD:+:$LD_PRELOAD}\n"));
  EXPECT_THAT(text, HasSubstr("  export KMP_BLOCKTIME=1\n"));
  EXPECT_THAT(text, HasSubstr("  export OMP_NUM_THREADS=6  # "));
  EXPECT_THAT(text, HasSubstr(" -- python3 train.py --name 'it'\\''s a run'\n"));
  EXPECT_THAT(text, HasSubstr(facts().program));
  EXPECT_THAT(text, HasSubstr("(184 ms"));
  EXPECT_THAT(text, HasSubstr("  # " + facts().plan.reasons.at(0) + "\n"));
}

TEST(Advice, RepeatsTypedFlagsWithoutExports) {
  const std::string text = advice_text(bound_facts());
  EXPECT_THAT(text, Not(HasSubstr("export")));
  EXPECT_THAT(text, HasSubstr(" --openmp keep -- python3"));
}

TEST(Advice, AsUntunedNumericsExportNoThreadCount) {
  const std::string text = advice_text(as_untuned_facts());
  EXPECT_THAT(text, Not(HasSubstr("export")));
  EXPECT_THAT(text, HasSubstr(" --numerics as-untuned -- python3"));
}

TEST(Advice, ReportsWidthsOfEarlierRun) {
  const std::string text = advice_text(stored_facts({2, 40, 0.2, 0.1}));
  EXPECT_THAT(text, HasSubstr("  export OMP_NUM_THREADS=2  # "));
  EXPECT_THAT(text, HasSubstr(" 40 ops"));
  EXPECT_LT(text.find("100 ms a step"), text.find("200 ms a step")) << "with them, then without";
  EXPECT_THAT(advice_text(stored_facts({0, 0, 0.2, 0.2})), Not(HasSubstr("200 ms a step")));
}

}  // namespace
}  // namespace optile::cli
