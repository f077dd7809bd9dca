#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bindings/cli/run/report_output.h"
#include "bindings/cli/support/json_fields.h"

namespace optile::cli {
namespace {

using testing::HasSubstr;
using testing::Not;

// As the daemon reports a program that it only watched so far.
Json untuned() {
  return {{"state", "finished"},
          {"program", "train.py"},
          {"steps", 40},
          {"step_seconds", {{"baseline", nullptr}, {"tuned", nullptr}}},
          {"baseline_kind", nullptr},
          {"speedup", nullptr},
          {"parts", {{"launch_plan", nullptr}, {"uniform_width", nullptr}}},
          {"coverage", {{"observed", 0.981}, {"steered", 0.943}}},
          {"sampled_steps", 0},
          {"plan_replayed", false},
          {"blas", "openblas-pthread"},
          {"openmp_runtime", "llvm"},
          {"launch_plan", "openmp=llvm wait=1ms blas=follow"},
          {"decision", ""},
          {"ops", Json::array()},
          {"fallbacks", Json::array()}};
}

Json op(const char* name, int width, double seconds, int per_step) {
  return {{"name", name},       {"width", width},       {"own_width", 4},
          {"seconds", seconds}, {"per_step", per_step}, {"reason", "why " + std::string(name)}};
}

Json factor(double value, double low, double high, int before, int after) {
  return {{"value", value},         {"low", low},           {"high", high},
          {"steps_before", before}, {"steps_after", after}, {"disturbed", Json::array()}};
}

Json tuned() {
  Json report = untuned();
  report["step_seconds"] = {{"baseline", 0.2}, {"tuned", 0.05}};
  report["baseline_kind"] = "separate_run";
  report["speedup"] = 4.0;
  report["parts"] = {{"launch_plan", 2.5}, {"blas_pool", nullptr}, {"width_per_op", 1.25}};
  report["factors"] = {{"speedup", factor(4, 3.8, 4.2, 20, 50)},
                       {"launch_plan", factor(2.5, 0.9, 4.1, 20, 5)},
                       {"blas_pool", nullptr},
                       {"width_per_op", factor(1.25, 1.2, 1.3, 20, 50)}};
  report["sampled_steps"] = 17;
  report["decision"] = "the planned widths won";
  report["ops"] = {op("small", 1, 0.001, 1), op("kept", 4, 0.02, 1), op("large", 2, 0.004, 1)};
  return report;
}

std::string table(const Json& report) {
  return summary_table(report.dump());
}

TEST(SummaryTable, ShowsConcurrentOpsAndSharedCores) {
  EXPECT_THAT(table(untuned()), Not(HasSubstr("at the same moment")));
  Json report = untuned();
  report["sharing"] = {
      {"issuing_threads", 4}, {"most_in_ops", 3}, {"shared_cores", 8}, {"narrowed_ops", 1200}};
  EXPECT_THAT(table(report), HasSubstr("4 issued ops, 3 at the same moment; they share 8 cores"));
  EXPECT_THAT(table(report), HasSubstr("narrowed 1200 executions"));
  report["sharing"]["shared_cores"] = nullptr;
  EXPECT_THAT(table(report), Not(HasSubstr("share")));
}

TEST(SummaryTable, ShowsCountersAndReason) {
  EXPECT_THAT(table(untuned()), HasSubstr("counters none"));
  Json report = untuned();
  report["counters"] = "software";
  report["counter_reason"] = "the processor grants no counters here";
  EXPECT_THAT(table(report), HasSubstr("counters software; the processor grants no counters"));
}

TEST(SummaryTable, NamesEverySteeredBlas) {
  Json report = untuned();
  report["blas_beside"] = {"libopenblas64_-1.so", "2 more"};
  EXPECT_THAT(table(report),
              HasSubstr("BLAS openblas-pthread (beside it libopenblas64_-1.so, 2 more), OpenMP"));
}

TEST(SummaryTable, ReportsProgramWithoutOps) {
  for (const char* text : {"", "garbage", "[]", "{}", R"({"state": "unknown"})"}) {
    EXPECT_THAT(summary_table(text), HasSubstr("no op of the program was seen")) << text;
  }
}

TEST(SummaryTable, UntunedRunClaimsNoSpeedup) {
  const std::string text = table(untuned());
  EXPECT_THAT(text, HasSubstr("train.py, 40 steps"));
  EXPECT_THAT(
      text,
      HasSubstr("times faster   not measured: nothing to compare with; type: optile baseline"));
  EXPECT_THAT(text, HasSubstr("98.1 % of a step observed, 94.3 % steerable"));
  EXPECT_THAT(text, HasSubstr("no op runs at another width"));
  EXPECT_THAT(text, HasSubstr("BLAS openblas-pthread, OpenMP llvm, launch plan openmp=llvm"));
  EXPECT_THAT(text, Not(HasSubstr("ms a step")));
  EXPECT_THAT(text, Not(HasSubstr("by launch plan")));
}

TEST(SummaryTable, TunedRunShowsSpeedupAndItsParts) {
  const std::string text = table(tuned());
  EXPECT_THAT(text, HasSubstr("untouched         200.00 ms a step  (a run of its own)"));
  EXPECT_THAT(text, HasSubstr("tuned              50.00 ms a step"));
  EXPECT_THAT(text, HasSubstr("times faster        4.00"));
  EXPECT_THAT(text, HasSubstr("by launch plan       2.50"));
  EXPECT_THAT(text, HasSubstr("by width per op      1.25"));
  EXPECT_THAT(text, Not(HasSubstr("BLAS pool"))) << "not measured, not claimed";
  EXPECT_THAT(text, HasSubstr("the planned widths won"));
  EXPECT_THAT(text, HasSubstr("sampled steps  17\n"));
}

TEST(SummaryTable, FactorsShowConfidenceIntervals) {
  Json report = tuned();
  report["factors"]["width_per_op"]["disturbed"] = {"it had 3 of 4 cores"};
  report["disturbed"] = {"it had 3 of 4 cores"};
  const std::string text = table(report);
  EXPECT_THAT(text, HasSubstr("4.00  [3.80, 4.20], n = 20 and 50\n"));
  EXPECT_THAT(text, HasSubstr("2.50  [0.90, 4.10], n = 20 and 5: no settled difference\n"));
  EXPECT_THAT(text, HasSubstr("1.25  [1.20, 1.30], n = 20 and 50, disturbed\n"));
  EXPECT_THAT(text, HasSubstr("  disturbed      it had 3 of 4 cores\n"));
}

TEST(SummaryTable, SuggestsBaselineCommandWhenMissing) {
  const std::string command = "mpirun -np 3 ./a 'b c'";
  EXPECT_THAT(
      summary_table(untuned().dump(), command),
      HasSubstr("not measured: nothing to compare with; type: optile baseline -- mpirun -np "
                "3 ./a 'b c'\n"));
  Json report = untuned();
  report["incomparable"] =
      "the steps of the untouched run consist of other ops (239 there, 21 here)";
  EXPECT_THAT(summary_table(report.dump(), command),
              HasSubstr("other ops (239 there, 21 here); type: optile baseline -- mpirun"));
  report = untuned();
  report["baseline_run"] = true;
  EXPECT_THAT(table(report), HasSubstr("not measured: this is the untouched run\n"));
  report = untuned();
  report["mode"] = "observe";
  EXPECT_THAT(table(report), HasSubstr("nothing is changed in this mode (observe)\n"));
}

TEST(SummaryTable, ShowsPresentStepTimeWithoutTunedSteps) {
  Json report = tuned();
  report["step_seconds"] = {{"baseline", 0.2}, {"tuned", nullptr}, {"present", 0.05}};
  const std::string text = table(report);
  EXPECT_THAT(text, HasSubstr("under optile       50.00 ms a step"));
  EXPECT_THAT(text, HasSubstr("times faster        4.00"));
}

TEST(SummaryTable, NamesControlBaseline) {
  Json report = tuned();
  report["baseline_kind"] = "control";
  const std::string text = table(report);
  EXPECT_THAT(text,
              HasSubstr("own widths        200.00 ms a step  (control steps inside this run)"));
  EXPECT_THAT(text, Not(HasSubstr("untouched")));
}

TEST(SummaryTable, RunEndedBeforeTuningIsNotMeasured) {
  Json report = tuned();
  report["step_seconds"]["tuned"] = nullptr;
  report["speedup"] = nullptr;
  report["factors"] = Json::object();
  EXPECT_THAT(table(report), HasSubstr("times faster   not measured: no step was run tuned"));
}

TEST(SummaryTable, SortsChangedOpsByTimeInStep) {
  Json report = tuned();
  // Its seconds are those of all its executions already.
  report["ops"].push_back(op("often", 1, 0.002, 100));
  const std::string text = table(report);
  EXPECT_THAT(text, HasSubstr("another width than the program's own (3)"));
  EXPECT_THAT(text, Not(HasSubstr("kept")));
  EXPECT_THAT(text, HasSubstr("why large"));
  EXPECT_LT(text.find("large"), text.find("often"));
  EXPECT_LT(text.find("often"), text.find("small"));
}

TEST(SummaryTable, ShowsReplayedPlan) {
  Json report = tuned();
  report["plan_replayed"] = true;
  report["sampled_steps"] = 0;
  EXPECT_THAT(table(report), HasSubstr("sampled steps  0  (the plan of an earlier run was used)"));
}

TEST(SummaryTable, PrintsFallbacksAsNotes) {
  Json report = untuned();
  report["fallbacks"] = {"one thing", "another"};
  const std::string text = table(report);
  EXPECT_THAT(text, HasSubstr("  note: one thing\n  note: another\n"));
}

TEST(SummaryTable, ReportsUnreadableReport) {
  Json report = untuned();
  report["steps"] = "many";
  EXPECT_THAT(table(report), HasSubstr("cannot be read"));
  report = untuned();
  report["program"] = nullptr;
  report["ops"] = {3};
  EXPECT_THAT(table(report), HasSubstr("cannot be read"));
}

}  // namespace
}  // namespace optile::cli
