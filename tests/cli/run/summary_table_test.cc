#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bindings/cli/run/report_output.h"
#include "bindings/cli/run/unseen_program.h"
#include "bindings/cli/support/json_fields.h"
#include "tests/cli/fixtures/golden.h"

namespace optile::cli {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

// As the daemon reports a program that it only watched so far.
Json untuned() {
  return {{"state", "finished"},
          {"program", "train.py"},
          {"steps", 40},
          {"step_seconds", {{"baseline", nullptr}, {"tuned", nullptr}}},
          {"baseline_kind", nullptr},
          {"speedup", nullptr},
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
  return {{"name", name},       {"width", width},       {"default_width", 4},
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
  report["factors"] = {{"speedup", factor(4, 3.8, 4.2, 20, 50)},
                       {"launch_plan", factor(2.5, 0.9, 4.1, 20, 5)},
                       {"blas_pool", nullptr},
                       {"width_per_op", factor(1.25, 1.2, 1.3, 20, 50)}};
  report["sampled_steps"] = 17;
  report["decision"] = "the planned widths won";
  report["ops"] = {op("small", 1, 0.001, 1), op("kept", 4, 0.02, 1), op("large", 2, 0.004, 1)};
  return report;
}

Json with(Json report, const char* key, const Json& value) {
  report[key] = value;
  return report;
}

Json shared(const Json& cores) {
  return with(untuned(), "sharing",
              {{"issuing_threads", 4},
               {"most_in_ops", 3},
               {"shared_cores", cores},
               {"narrowed_ops", 1200}});
}

Json disturbed() {
  Json report = tuned();
  report["factors"]["width_per_op"]["disturbed"] = {"it had 3 of 4 cores"};
  report["disturbed"] = {"it had 3 of 4 cores"};
  return report;
}

// With the untouched run's time, where the own run had no step at its widths.
Json ended_early() {
  Json report = tuned();
  report["step_seconds"]["tuned"] = nullptr;
  report["speedup"] = nullptr;
  report["factors"] = Json::object();
  return report;
}

Json without_widths() {
  return with(tuned(), "step_seconds", {{"baseline", 0.2}, {"tuned", nullptr}, {"present", 0.05}});
}

constexpr const char* kOtherOps =
    "the steps of the untouched run consist of other ops (239 there, 21 here)";
constexpr const char* kCommand = "mpirun -np 3 ./a 'b c'";

std::string table(const Json& report) {
  return summary_table(report.dump(), kCommand);
}

std::vector<double> numbers(const Json& report, const char* label) {
  return numbers_in(field(table(report), label));
}

TEST(SummaryTable, MatchesGoldenFile) {
  Golden golden("summary");
  golden.add("watched only", table(untuned()));
  golden.add("of an unknown command", summary_table(untuned().dump()));
  golden.add("tuned", table(tuned()));
  golden.add("disturbed", table(disturbed()));
  golden.add("control steps", table(with(tuned(), "baseline_kind", "control")));
  golden.add("no tuned step", table(ended_early()));
  golden.add("no width to tune", table(without_widths()));
  Json replayed = with(tuned(), "plan_replayed", true);
  golden.add("replayed", table(with(replayed, "sampled_steps", 0)));
  golden.add("several issuing threads", table(shared(8)));
  golden.add("several issuing threads that share nothing", table(shared(nullptr)));
  golden.add("untouched run of other ops", table(with(untuned(), "incomparable", kOtherOps)));
  golden.add("the untouched run", table(with(untuned(), "baseline_run", true)));
  golden.add("observe", table(with(untuned(), "mode", "observe")));
  Json rolled_back = with(untuned(), "fallbacks", {"one thing", "another"});
  const Json rollback = {{"step", 7}, {"what", "the plan"}, {"reason", "it was slower"}};
  rolled_back["guard"]["rollbacks"] = Json::array({rollback});
  golden.add("rolled back, with notes", table(rolled_back));
  golden.add("unreadable", table(with(untuned(), "steps", "many")));
  golden.check();
}

TEST(SummaryTable, ShowsConcurrentOpsAndSharedCores) {
  EXPECT_EQ(field(table(untuned()), "threads"), "");
  EXPECT_THAT(numbers(shared(8), "threads"), ElementsAre(4, 3, 8, 1200));
  EXPECT_THAT(numbers(shared(nullptr), "threads"), ElementsAre(4, 3));
}

TEST(SummaryTable, ShowsCountersAndReason) {
  EXPECT_EQ(field(table(untuned()), "counters"), "none");
  Json report = with(untuned(), "counters", "software");
  report["counter_reason"] = "not granted";
  EXPECT_EQ(field(table(report), "counters"), "software; not granted");
}

TEST(SummaryTable, NamesEverySteeredBlas) {
  const std::string text = table(with(untuned(), "blas_beside", {"libopenblas64_-1.so", "2 more"}));
  for (const char* name : {"openblas-pthread", "libopenblas64_-1.so", "2 more"}) {
    EXPECT_THAT(field(text, "BLAS"), HasSubstr(name));
  }
}

TEST(SummaryTable, NamesFrameworkWithThreadsOfItsOwn) {
  const std::string text =
      table(with(untuned(), "blas", "/site-packages/tensorflow/libtensorflow_framework.so.2"));
  EXPECT_THAT(text, HasSubstr("TensorFlow's own threads"));
  EXPECT_THAT(text, Not(HasSubstr("BLAS ")));
}

TEST(SummaryTable, ReportsProgramWithoutOps) {
  for (const char* text : {"", "garbage", "[]", "{}", R"({"state": "unknown"})"}) {
    EXPECT_EQ(summary_table(text), unseen_program_text({})) << text;
  }
}

TEST(SummaryTable, UntunedRunClaimsNoSpeedup) {
  const std::string text = table(untuned());
  EXPECT_THAT(text, HasSubstr("train.py, 40 steps"));
  EXPECT_THAT(numbers_in(field(text, "coverage")), ElementsAre(98.1, 94.3));
  EXPECT_THAT(field(text, "BLAS"), HasSubstr(untuned()["launch_plan"].get<std::string>()));
  for (const char* label :
       {"untouched", "default widths", "tuned", "under optile", "by launch plan"}) {
    EXPECT_EQ(field(text, label), "");
  }
  EXPECT_THAT(field(text, "times faster"), HasSubstr("optile baseline -- "));
}

TEST(SummaryTable, TunedRunShowsSpeedupAndItsParts) {
  const std::string text = table(tuned());
  EXPECT_THAT(numbers(tuned(), "untouched"), ElementsAre(200));
  EXPECT_THAT(numbers(tuned(), "tuned"), ElementsAre(50));
  EXPECT_EQ(numbers(tuned(), "times faster").at(0), 4);
  EXPECT_EQ(numbers(tuned(), "by launch plan").at(0), 2.5);
  EXPECT_EQ(numbers(tuned(), "by width per op").at(0), 1.25);
  EXPECT_EQ(field(text, "by BLAS pool"), "") << "not measured, not claimed";
  EXPECT_THAT(text, HasSubstr(tuned()["decision"].get<std::string>()));
  EXPECT_EQ(field(text, "sampled steps"), "17");
}

TEST(SummaryTable, FactorsShowConfidenceIntervals) {
  const std::string text = table(disturbed());
  EXPECT_THAT(numbers_in(field(text, "times faster")), ElementsAre(4, 3.8, 4.2, 20, 50));
  EXPECT_THAT(numbers_in(field(text, "by launch plan")), ElementsAre(2.5, 0.9, 4.1, 20, 5));
  EXPECT_THAT(field(text, "by launch plan"), testing::EndsWith(": no settled difference"));
  EXPECT_THAT(numbers_in(field(text, "by width per op")), ElementsAre(1.25, 1.2, 1.3, 20, 50));
  EXPECT_THAT(field(text, "by width per op"), testing::EndsWith(", disturbed"));
  EXPECT_EQ(field(text, "disturbed"), disturbed()["disturbed"][0]);
}

TEST(SummaryTable, SuggestsBaselineCommandWhenMissing) {
  const std::string typed = "optile baseline -- " + std::string(kCommand);
  EXPECT_THAT(field(table(untuned()), "times faster"), testing::EndsWith(typed));
  const std::string other = table(with(untuned(), "incomparable", kOtherOps));
  EXPECT_THAT(field(other, "times faster"), HasSubstr(kOtherOps));
  EXPECT_THAT(field(other, "times faster"), testing::EndsWith(typed));
  // Neither would have a factor afterwards.
  for (const Json& report :
       {with(untuned(), "baseline_run", true), with(untuned(), "mode", "observe")}) {
    EXPECT_THAT(numbers(report, "times faster"), IsEmpty());
    EXPECT_THAT(field(table(report), "times faster"), Not(HasSubstr("optile baseline")));
  }
  EXPECT_THAT(field(table(with(untuned(), "mode", "observe")), "times faster"),
              HasSubstr("(observe)"));
}

TEST(SummaryTable, ShowsPresentStepTimeWithoutTunedSteps) {
  EXPECT_THAT(numbers(without_widths(), "under optile"), ElementsAre(50));
  EXPECT_EQ(numbers(without_widths(), "times faster").at(0), 4);
}

TEST(SummaryTable, NamesControlBaseline) {
  const Json report = with(tuned(), "baseline_kind", "control");
  EXPECT_THAT(numbers(report, "default widths"), ElementsAre(200));
  EXPECT_EQ(field(table(report), "untouched"), "");
}

TEST(SummaryTable, RunEndedBeforeTuningIsNotMeasured) {
  EXPECT_NE(field(table(ended_early()), "times faster"), "");
  EXPECT_THAT(numbers(ended_early(), "times faster"), IsEmpty());
}

TEST(SummaryTable, SortsChangedOpsByTimeInStep) {
  Json report = tuned();
  // Its seconds are those of all its executions already.
  report["ops"].push_back(op("often", 1, 0.002, 100));
  const std::string text = table(report);
  EXPECT_THAT(field(text, "ops"), HasSubstr("(3)"));
  EXPECT_EQ(field(text, "kept"), "");
  EXPECT_EQ(field(text, "large"), "width 2  why large");
  EXPECT_LT(text.find("large"), text.find("often"));
  EXPECT_LT(text.find("often"), text.find("small"));
}

TEST(SummaryTable, ShowsReplayedPlan) {
  Json report = with(tuned(), "plan_replayed", true);
  report["sampled_steps"] = 0;
  EXPECT_THAT(field(table(report), "sampled steps"), testing::StartsWith("0  ("));
}

TEST(SummaryTable, PrintsFallbacksAsNotes) {
  const std::string text = table(with(untuned(), "fallbacks", {"one thing", "another"}));
  EXPECT_THAT(text, HasSubstr("  note: one thing\n  note: another\n"));
}

TEST(SummaryTable, ReportsUnreadableReport) {
  EXPECT_THAT(table(with(untuned(), "steps", "many")), HasSubstr("cannot be read"));
  Json report = with(untuned(), "program", nullptr);
  report["ops"] = {3};
  EXPECT_THAT(table(report), HasSubstr("cannot be read"));
}

}  // namespace
}  // namespace optile::cli
