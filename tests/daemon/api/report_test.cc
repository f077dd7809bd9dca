#include "daemon/api/report.h"

#include <gtest/gtest.h>

#include <cerrno>

namespace optile::daemon {
namespace {

using perfmodel::SampleSet;

void fill(SampleSet& set, int count, int64_t ns) {
  for (int i = 0; i < count; ++i) set.add(perfmodel::Nanoseconds(ns + i % 3));
}

ClientView tuned_client() {
  ClientView client;
  client.attach_request.program = "train.py";
  client.attach_request.arguments = "python3 train.py";
  client.attach_request.launch_plan = "openmp=llvm wait=1ms blas=follow";
  client.header = ClientHeader();
  client.header->blas_ready = true;
  client.header->blas_path = "/usr/lib/x86_64-linux-gnu/openblas-pthread/libblas.so.3";
  client.session = tuner::SessionView();
  client.session->steps = 100;
  fill(client.session->own_steps, 10, 8000000);
  fill(client.session->uniform_steps, 10, 4000000);
  fill(client.session->tuned_steps, 50, 2000000);
  client.session->seconds_in_steps = 2.0;
  client.session->seconds_lost_to_sampling = 0.02;
  client.shim_seconds = 0.02;
  return client;
}

Json report_of(const ClientView& client, const std::vector<RunRecord>& earlier = {}) {
  Store::State store;
  store.keeping = Store::Keeping::kOnDisk;
  return run_report(client, earlier, store);
}

RunRecord earlier_run(RunKind kind, const std::string& launch_plan, double step_seconds) {
  RunRecord run;
  run.conditions.program = {"", "train.py", "python3 train.py"};
  run.conditions.launch_plan = launch_plan;
  run.kind = kind;
  run.steps = 20;
  run.step_seconds = step_seconds;
  run.own_steps = 20;
  run.own_step_seconds = step_seconds;
  run.untouched = kind == RunKind::kBaseline;
  return run;
}

TEST(Report, HasEveryKeyEvenForIdleClient) {
  ClientView empty;
  for (const ClientView& client : {empty, tuned_client()}) {
    const Json report = report_of(client);
    for (const char* key : {"steps",     "step_seconds",   "baseline_kind", "speedup",
                            "factors",   "samples",        "sampled_steps", "overhead_ratio",
                            "coverage",  "plan_replayed",  "ops",           "counters",
                            "blas",      "openmp_runtime", "wait_policy",   "launch_plan",
                            "fallbacks", "program",        "pid",           "phase",
                            "decision",  "events_dropped", "blas_beside"}) {
      EXPECT_TRUE(report.contains(key)) << key;
    }
  }
}

TEST(Report, ReportsCounterTierAndReason) {
  ClientView client = tuned_client();
  EXPECT_EQ(report_of(client)["counters"], "none");
  client.header->counter_errno = ECANCELED;
  const std::string off = report_of(client)["counter_reason"];
  EXPECT_TRUE(off.ends_with(" --counters off")) << off;
  client.header->counter_tier = perfmodel::CounterTier::kSoftware;
  client.header->counter_errno = ENODEV;
  EXPECT_EQ(report_of(client)["counters"], "software");
  EXPECT_EQ(report_of(client)["counter_reason"], "the processor grants no counters here");
  client.header->counter_tier = perfmodel::CounterTier::kHardware;
  client.header->counter_errno = 0;
  EXPECT_EQ(report_of(client)["counters"], "hardware");
  EXPECT_TRUE(report_of(client)["counter_reason"].is_null());
}

TEST(Report, OpRowsCarryCountsOfTheirWidth) {
  ClientView client = tuned_client();
  client.session->default_width = 4;
  tuner::OpView op;
  op.place = {7, 0};
  op.width = 2;
  client.session->ops.push_back(op);
  EXPECT_TRUE(report_of(client)["ops"][0]["counts"].is_null());
  perfmodel::CountedExecution one;
  one.key = 7;
  one.width = 2;
  one.duration = std::chrono::microseconds(100);
  one.threads = 2;
  one.events = {perfmodel::CountedEvent::kInstructions, perfmodel::CountedEvent::kLlcMisses,
                perfmodel::CountedEvent::kTaskClockNs};
  one.counts = {4000, 8, 150000};
  client.counts.add(one);
  const Json counts = report_of(client)["ops"][0]["counts"];
  EXPECT_EQ(counts["executions"], 1);
  EXPECT_EQ(counts["threads"], 2.0);
  EXPECT_EQ(counts["per_execution"]["instructions"], 4000.0);
  EXPECT_FALSE(counts["per_execution"].contains("cycles"));
  EXPECT_DOUBLE_EQ(counts["ratios"]["llc_misses_per_1000_instructions"].get<double>(), 2.0);
  EXPECT_DOUBLE_EQ(counts["ratios"]["busy_cores"].get<double>(), 1.5);
}

TEST(Report, ControlStepsAreBaselineWithinOneRun) {
  const Json report = report_of(tuned_client());
  EXPECT_EQ(report["baseline_kind"], "control");
  EXPECT_NEAR(report["speedup"].get<double>(), 4.0, 0.01);
  EXPECT_TRUE(report["factors"]["launch_plan"].is_null());
  EXPECT_NEAR(report["factors"]["uniform_width"]["value"].get<double>(), 2.0, 0.01);
  EXPECT_NEAR(report["factors"]["width_per_op"]["value"].get<double>(), 2.0, 0.01);
  EXPECT_NEAR(report["overhead_ratio"].get<double>(), 0.02, 1e-9);
  EXPECT_EQ(report["blas"], "openblas-pthread");
  EXPECT_EQ(report["wait_policy"], "1ms");
}

TEST(Report, SeparateBaselineSplitsSpeedupIntoParts) {
  const Json report = report_of(
      tuned_client(), {earlier_run(RunKind::kTune, "openmp=llvm wait=1ms blas=keep", 0.016),
                       earlier_run(RunKind::kBaseline, "", 0.032)});
  EXPECT_EQ(report["baseline_kind"], "separate_run");
  EXPECT_NEAR(report["speedup"].get<double>(), 16.0, 0.1);
  EXPECT_NEAR(report["factors"]["launch_plan"]["value"].get<double>(), 2.0, 0.01);
  EXPECT_NEAR(report["factors"]["blas_pool"]["value"].get<double>(), 2.0, 0.01);
}

TEST(Report, FactorsHaveStepCountsAndInterval) {
  const Json report = report_of(tuned_client());
  const Json factor = report["factors"]["speedup"];
  EXPECT_EQ(factor["value"], report["speedup"]);
  EXPECT_LE(factor["low"].get<double>(), factor["value"].get<double>());
  EXPECT_GE(factor["high"].get<double>(), factor["value"].get<double>());
  EXPECT_EQ(factor["steps_before"], 10);
  EXPECT_EQ(factor["steps_after"], 50);
  EXPECT_TRUE(report["factors"]["launch_plan"].is_null());
}

TEST(Report, ListsDisturbancesOfComparison) {
  ClientView client = tuned_client();
  EXPECT_TRUE(report_of(client)["disturbed"].empty());
  client.header->default_width = 4;
  client.default_width_cap = 3;
  client.session->own_steps = SampleSet();
  fill(client.session->own_steps, 4, 8000000);
  EXPECT_EQ(report_of(client)["disturbed"].size(), 2u);
}

TEST(Report, UntouchedRunOfAnyModeIsBaseline) {
  const std::string kept = "openmp=keep wait=keep blas=keep";
  RunRecord observed = earlier_run(RunKind::kObserve, kept, 0.032);
  EXPECT_EQ(report_of(tuned_client(), {observed})["baseline_kind"], "control")
      << "a tuned run that found nothing to tune had leases and a launch plan";
  observed.untouched = true;
  EXPECT_EQ(report_of(tuned_client(), {observed})["baseline_kind"], "separate_run");
}

// Half of the steps wait for a scheduler's tick: their middle says nothing of what a run takes.
TEST(Report, SpeedupComparesMeanStepTimes) {
  ClientView client = tuned_client();
  client.session->tuned_steps = SampleSet();
  for (int i = 0; i < 60; ++i) {
    client.session->tuned_steps.add(std::chrono::milliseconds(i % 5 < 3 ? 8 : 68));
  }
  const Json report = report_of(client, {earlier_run(RunKind::kBaseline, "", 0.032)});
  EXPECT_NEAR(report["speedup"].get<double>(), 1.0, 0.01);
  EXPECT_LT(report["factors"]["speedup"]["low"].get<double>(), 0.9);
  EXPECT_GT(report["factors"]["speedup"]["high"].get<double>(), 1.1);
}

// Sixty trees each: in one run a tree was taken for the step, in the other a loop inside it.
TEST(Report, StepsOfDifferentOpsAreNotCompared) {
  ClientView client = tuned_client();
  client.session->marker = tuner::Marker{{7, 0}, 21};
  RunRecord tree = earlier_run(RunKind::kBaseline, "", 0.032);
  tree.step.ops = 239;
  Json report = report_of(client, {tree});
  EXPECT_EQ(report["baseline_kind"], "control");
  EXPECT_TRUE(report["factors"]["launch_plan"].is_null());
  EXPECT_EQ(report["incomparable"],
            "the steps of the untouched run consist of other ops (239 there, 21 here)");
  RunRecord loop = tree;
  loop.step.ops = 21;
  report = report_of(client, {tree, loop});
  EXPECT_EQ(report["baseline_kind"], "separate_run") << "an older one may be of the same step";
  EXPECT_TRUE(report["incomparable"].is_null());
}

TEST(Report, UntunableRunIsComparedAtDefaultWidths) {
  ClientView client = tuned_client();
  client.session->tuned_steps = SampleSet();
  client.session->uniform_steps = SampleSet();
  client.session->steerable_share = 0;
  client.attach_request.launch_plan = "openmp=keep wait=keep blas=keep";
  Json report = report_of(client, {earlier_run(RunKind::kBaseline, "", 0.032)});
  EXPECT_NEAR(report["speedup"].get<double>(), 4.0, 0.01);
  EXPECT_TRUE(report["step_seconds"]["tuned"].is_null());
  EXPECT_NEAR(report["step_seconds"]["present"].get<double>(), 0.008, 1e-4);
  EXPECT_TRUE(report["factors"]["launch_plan"].is_null()) << "it chose nothing";
  client.session->steerable_share = 0.5;  // the search had not ended
  report = report_of(client, {earlier_run(RunKind::kBaseline, "", 0.032)});
  EXPECT_TRUE(report["speedup"].is_null());
}

TEST(Report, LaunchPlanPartExcludesCostOfFewerCores) {
  ClientView client = tuned_client();
  client.session->tuned_steps = SampleSet();
  client.default_width_cap = 1;
  const RunRecord before = earlier_run(RunKind::kBaseline, "", 0.032);
  EXPECT_TRUE(report_of(client, {before})["factors"]["launch_plan"].is_null());
  const RunRecord alone = earlier_run(RunKind::kTune, client.attach_request.launch_plan, 0.016);
  EXPECT_NEAR(report_of(client, {alone, before})["factors"]["launch_plan"]["value"].get<double>(),
              2.0, 0.01);
}

TEST(Report, FactorsListDisturbancesOfBothRuns) {
  ClientView client = tuned_client();
  client.co_runner_load = "others kept 1.3 of 2 cores busy on average";
  RunRecord before = earlier_run(RunKind::kBaseline, "", 0.032);
  Json report = report_of(client, {before});
  EXPECT_EQ(report["factors"]["speedup"]["disturbed"], Json({client.co_runner_load}));
  EXPECT_EQ(report["disturbed"], Json({client.co_runner_load}));
  client.co_runner_load.clear();
  before.disturbed = "others kept 0.4 of 2 cores busy on average";
  report = report_of(client, {before});
  EXPECT_EQ(report["factors"]["speedup"]["disturbed"],
            Json({"in the untouched run " + before.disturbed}));
  EXPECT_TRUE(report["factors"]["widths"]["disturbed"].empty()) << "both sides are of this run";
}

TEST(Report, RunsWithOtherArgumentsAreNoBaseline) {
  RunRecord other = earlier_run(RunKind::kBaseline, "", 0.032);
  other.conditions.program.arguments = "python3 train.py --batch 9";
  EXPECT_EQ(report_of(tuned_client(), {other})["baseline_kind"], "control");
}

TEST(Report, SpeedupIsNullWithoutMeasuredBaseline) {
  ClientView client = tuned_client();
  client.session->own_steps = SampleSet();
  Json report = report_of(client);
  EXPECT_TRUE(report["speedup"].is_null());
  EXPECT_TRUE(report["baseline_kind"].is_null());
  fill(client.session->own_steps, 2, 8000000);  // two steps are no measurement
  report = report_of(client);
  EXPECT_TRUE(report["speedup"].is_null());
}

TEST(Report, PlanWithDefaultWidthsHasNoWidthSpeedup) {
  ClientView client = tuned_client();
  client.session->default_widths_in_force = true;
  Json report = report_of(client);
  EXPECT_EQ(report["baseline_kind"], "control");
  EXPECT_EQ(report["speedup"], 1.0);
  EXPECT_EQ(report["factors"]["widths"]["value"], 1.0);
  EXPECT_TRUE(report["factors"]["uniform_width"].is_null());
  report = report_of(client, {earlier_run(RunKind::kBaseline, "", 0.032)});
  EXPECT_NEAR(report["speedup"].get<double>(), 16.0, 0.1);
  EXPECT_NEAR(report["factors"]["launch_plan"]["value"].get<double>(), 16.0, 0.1);
}

TEST(Report, ObservedRunHasNoTunedSteps) {
  ClientView client = tuned_client();
  client.attach_request.mode = OPTILE_MODE_OBSERVE;
  const Json report = report_of(client);
  EXPECT_TRUE(report["step_seconds"]["tuned"].is_null());
  EXPECT_TRUE(report["speedup"].is_null());
}

// F33.
// fault: F33
TEST(Report, ReportsStepTimesWithoutCounters) {
  const Json report = report_of(tuned_client());
  EXPECT_EQ(report["counters"], "none");
  EXPECT_FALSE(report["step_seconds"]["tuned"].is_null());
}

TEST(Report, ListsFallbacksAndStoreError) {
  ClientView client = tuned_client();
  client.header->fallbacks = OPTILE_FALLBACK_BRIDGE_MISSING | OPTILE_FALLBACK_USER_BINDING;
  client.counters.dropped = 12;
  Store::State store;
  store.message = "cannot open the store";
  const Json report = run_report(client, {}, store);
  EXPECT_EQ(report["fallbacks"].size(), 4u);
  EXPECT_NE(report["fallbacks"].back().get<std::string>().find("cannot open"), std::string::npos);
}

TEST(Report, BlasIsNamedByItsPath) {
  ClientHeader header;
  EXPECT_EQ(blas_name(header), "unknown");
  header.blas_ready = true;
  EXPECT_EQ(blas_name(header), "none");
  header.blas_path = "/usr/lib/x86_64-linux-gnu/blis-openmp/libblas.so.3";
  EXPECT_EQ(blas_name(header), "blis");
  header.blas_path = "/usr/lib/x86_64-linux-gnu/blas/libblas.so.3.11.0";
  EXPECT_EQ(blas_name(header), "reference");
}

TEST(Report, NamesBlasLibrariesBesideFirst) {
  ClientHeader header;
  EXPECT_TRUE(blas_beside(header).empty());
  header.blas_beside = 3;
  EXPECT_EQ(blas_beside(header), (std::vector<std::string>{"3"}));
  header.beside_names = {"libopenblas64_-1.so"};
  EXPECT_EQ(blas_beside(header), (std::vector<std::string>{"libopenblas64_-1.so", "2 more"}));
  header.blas_beside = 1;
  EXPECT_EQ(blas_beside(header), header.beside_names);
}

TEST(LaunchOption, MatchesWholeKeysOnly) {
  EXPECT_EQ(perfmodel::launch_option("openmp=llvm wait=1ms", "wait"), "1ms");
  EXPECT_EQ(perfmodel::launch_option("openmp=llvm", "wait"), "");
  EXPECT_EQ(perfmodel::launch_option("xwait=3 wait=4", "wait"), "4");
}

}  // namespace
}  // namespace optile::daemon
