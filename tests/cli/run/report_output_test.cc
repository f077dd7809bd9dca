#include "bindings/cli/run/report_output.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <future>
#include <memory>

#include "bindings/cli/run/unseen_program.h"
#include "bindings/cli/support/json_fields.h"
#include "tests/cli/fixtures/files.h"
#include "tests/cli/fixtures/one_answer.h"

namespace optile::cli {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class ReportOutputTest : public testing::Test {
 protected:
  // What was said on stderr.
  std::string write(const LaunchDecision& decision) {
    testing::internal::CaptureStderr();
    write_outputs(options_, decision);
    return testing::internal::GetCapturedStderr();
  }
  Json report() const { return Json::parse(read_file(options_.run.report), nullptr, false); }

  TemporaryDirectory folder_;
  Options options_ = [this] {
    Options options;
    options.run.report = folder_ / "report.json";
    return options;
  }();
  // Without a shim nobody attached, and nobody is asked.
  LaunchDecision unseen_ = [] {
    LaunchDecision decision;
    decision.run_id = "r1";
    return decision;
  }();
};

TEST_F(ReportOutputTest, UnattachedRunReportHasEveryField) {
  EXPECT_THAT(write(unseen_), HasSubstr("never attached"));
  const Json report = this->report();
  ASSERT_TRUE(report.is_object());
  EXPECT_EQ(report["state"], "unknown");
  EXPECT_EQ(report["run_id"], "r1");
  for (const char* field :
       {"steps", "step_seconds", "baseline_kind", "speedup", "factors", "samples", "sampled_steps",
        "overhead_ratio", "coverage", "plan_replayed", "ops", "counters", "blas", "blas_beside",
        "openmp_runtime", "wait_policy", "fallbacks"}) {
    EXPECT_TRUE(report.contains(field)) << field;
  }
  EXPECT_EQ(report["steps"], 0);
  EXPECT_TRUE(report["speedup"].is_null());
}

TEST_F(ReportOutputTest, WritesDaemonReportUnchanged) {
  OneAnswer daemon(folder_ / "s", 200,
                   R"({"state": "finished", "run_id": "r1", "steps": 12, "extra": [1]})");
  unseen_.shim = "shim";
  unseen_.socket = folder_ / "s";
  EXPECT_EQ(write(unseen_), "");
  EXPECT_THAT(daemon.request(), HasSubstr("GET /v1/runs/r1/report "));
  EXPECT_EQ(report()["steps"], 12);
  EXPECT_EQ(report()["extra"], Json::array({1}));
}

TEST_F(ReportOutputTest, SummaryNamesWholeProgram) {
  OneAnswer daemon(folder_ / "s", 200,
                   R"({"state": "finished", "program": "serve", "whole_program": true})");
  unseen_.shim = "shim";
  unseen_.socket = folder_ / "s";
  options_.run.summary = true;
  EXPECT_EQ(write(unseen_), whole_program_text("serve"));
  EXPECT_EQ(report()["whole_program"], true);
}

TEST_F(ReportOutputTest, WritesReportWithoutDaemon) {
  unseen_.shim = "shim";
  unseen_.socket = folder_ / "nobody";
  EXPECT_THAT(write(unseen_), HasSubstr("never attached"));
  EXPECT_EQ(report()["state"], "unknown");
}

TEST_F(ReportOutputTest, WaitsForStartingDaemon) {
  unseen_.shim = "shim";
  unseen_.socket = folder_ / "s";
  unseen_.daemon_starts = true;
  auto later = std::async(std::launch::async, [&] {
    return std::make_unique<OneAnswer>(folder_ / "s", 200, R"({"state": "finished", "steps": 3})");
  });
  EXPECT_EQ(write(unseen_), "");
  EXPECT_EQ(report()["steps"], 3);
}

TEST_F(ReportOutputTest, ReplacesFileWithoutLeftovers) {
  write_file(options_.run.report, std::string(10000, 'x'));
  write(unseen_);
  EXPECT_TRUE(report().is_object());
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_.path()), fs::directory_iterator()), 1);
}

TEST_F(ReportOutputTest, PreservesLinks) {
  const std::string real = write_file(folder_ / "real.json", "old");
  fs::create_symlink(real, options_.run.report);
  write(unseen_);
  EXPECT_TRUE(fs::is_symlink(options_.run.report));
  EXPECT_TRUE(Json::parse(read_file(real), nullptr, false).is_object());
}

// Nor a device: a report renamed over one of those would break the machine of whoever is root.
TEST_F(ReportOutputTest, PreservesPipes) {
  ASSERT_EQ(mkfifo(options_.run.report.c_str(), 0600), 0);
  // Open at both ends, so that nobody waits; a report is smaller than what a pipe holds.
  const base::UniqueFd pipe(open(options_.run.report.c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC));
  ASSERT_TRUE(pipe.valid());
  write(unseen_);
  std::string text(65536, '\0');
  const ssize_t got = read(pipe.get(), text.data(), text.size());
  ASSERT_GT(got, 0);
  text.resize(static_cast<std::size_t>(got));
  EXPECT_TRUE(Json::parse(text, nullptr, false).is_object());
  EXPECT_TRUE(fs::is_fifo(options_.run.report));
}

TEST_F(ReportOutputTest, ReportsUnwritablePath) {
  options_.run.report = folder_ / "no/such/folder/report.json";
  const std::string said = write(unseen_);
  EXPECT_THAT(said, HasSubstr(options_.run.report + " cannot be written"));
  fs::create_directories(folder_ / "folder");
  options_.run.report = folder_ / "folder";
  EXPECT_THAT(write(unseen_), HasSubstr("cannot be written"));
}

TEST_F(ReportOutputTest, PrintsSummaryToStderr) {
  options_.run.report = "";
  options_.run.summary = true;
  unseen_.unseen = "it is linked statically";
  EXPECT_EQ(write(unseen_), unseen_program_text({unseen_.unseen, true, ""}));
}

}  // namespace
}  // namespace optile::cli
