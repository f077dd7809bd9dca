#include "bindings/cli/query/queries.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bindings/cli/query/explanation.h"
#include "tests/cli/fixtures/files.h"
#include "tests/cli/fixtures/one_answer.h"

namespace optile::cli {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

struct Said {
  int exit_code = 0;
  std::string out;
  std::string err;
};

class QueriesTest : public testing::Test {
 protected:
  Said ask(Options options) {
    options.socket = folder_ / "s";
    testing::internal::CaptureStdout();
    testing::internal::CaptureStderr();
    Said said;
    said.exit_code = answer_query(options);
    said.out = testing::internal::GetCapturedStdout();
    said.err = testing::internal::GetCapturedStderr();
    return said;
  }
  Said ask(Options options, int status, const std::string& body) {
    OneAnswer daemon(folder_ / "s", status, body);
    Said said = ask(std::move(options));
    request_ = daemon.request();
    return said;
  }

  TemporaryDirectory folder_;
  std::string request_;
};

Options about(Verb verb) {
  Options options;
  options.verb = verb;
  return options;
}

TEST_F(QueriesTest, ReportsMissingDaemon) {
  const Said said = ask(about(Verb::kStatus));
  EXPECT_EQ(said.exit_code, 1);
  EXPECT_THAT(said.err, StartsWith("optile: no daemon answers on "));
  EXPECT_EQ(said.out, "");
}

TEST_F(QueriesTest, MetricsArePrintedUnchanged) {
  const std::string page = "# TYPE optile_clients gauge\noptile_clients 3\n";
  const Said said = ask(about(Verb::kMetrics), 200, page);
  EXPECT_EQ(said.exit_code, 0);
  EXPECT_EQ(said.out, page);
  EXPECT_THAT(request_, StartsWith("GET /metrics "));
}

TEST_F(QueriesTest, RefusalPrintsDaemonMessageWithCommand) {
  Options options = about(Verb::kExplain);
  options.op = "aten::x y";
  const Said said = ask(options, 404, R"({"error": {"message": "no op matches; see /v1/ops"}})");
  EXPECT_EQ(said.exit_code, 1);
  EXPECT_EQ(said.err, "optile: no op matches; see optile ops\n");
  EXPECT_THAT(request_, StartsWith("GET /v1/ops/aten%3A%3Ax%20y/explain "));
}

TEST_F(QueriesTest, ClientRefusalNamesStatusCommand) {
  Options options = about(Verb::kOps);
  options.client = "9";
  const Said said =
      ask(options, 404, R"({"error": {"message": "there is no such client; see /v1/clients"}})");
  EXPECT_EQ(said.err, "optile: there is no such client; see optile status\n");
}

TEST(Explanation, RepeatsUserWidthAndItsSource) {
  const auto explained = [](const char* source, const char* respect, bool binds) {
    return explanation_text(
        {{"name", "aten::mm"},
         {"cap", 3},
         {"user", {{"own_width", 4}, {"source", source}, {"respect", respect}, {"binds", binds}}}});
  };
  EXPECT_THAT(explained("environment", "cap", true),
              HasSubstr("you said so: at most 4 threads (OMP_NUM_THREADS); never wider than 3"));
  EXPECT_THAT(explained("program", "exact", true),
              HasSubstr("you said so: exactly 4 threads (set by the program, --respect exact)"));
  EXPECT_THAT(explained("launcher", "ignore", false),
              HasSubstr("own width 4, set by launcher; never wider than 3; what you set "
                        "is ignored (--respect ignore)"));
  EXPECT_THAT(explained("default", "cap", false), testing::Not(HasSubstr("you said")));
}

TEST(Explanation, NamesEveryThreadCountVariable) {
  const Json pools = {
      {{"name", "MKL_NUM_THREADS"}, {"count", 2}, {"consequence", "MKL never uses more"}}};
  const std::string text = explanation_text({{"name", "aten::mm"},
                                             {"cap", 3},
                                             {"user",
                                              {{"own_width", 3},
                                               {"source", "environment"},
                                               {"respect", "cap"},
                                               {"binds", true},
                                               {"word", "OMP_THREAD_LIMIT"},
                                               {"pools", pools}}}});
  EXPECT_THAT(text, HasSubstr("you said so: at most 3 threads (OMP_THREAD_LIMIT)"));
  EXPECT_THAT(text, HasSubstr("you said so: MKL_NUM_THREADS=2; MKL never uses more\n"));
}

TEST_F(QueriesTest, OpsAreSortedByShareOfStep) {
  Options options = about(Verb::kOps);
  options.client = "1";
  const Said said = ask(options, 200, R"({"ops": [
      {"client": 1, "id": "a", "seconds": 0.001, "width": 1, "own_width": 4, "name": "small"},
      {"client": 1, "id": "b", "seconds": 0.003, "width": 4, "own_width": 4, "name": "large"},
      {"client": 2, "id": "c", "seconds": 9.0, "width": 4, "own_width": 4, "name": "other"}]})");
  EXPECT_EQ(said.exit_code, 0);
  EXPECT_THAT(request_, StartsWith("GET /v1/ops?client=1 "));
  const std::size_t small = said.out.find("25.0%");
  const std::size_t large = said.out.find("75.0%");
  ASSERT_NE(small, std::string::npos) << said.out;
  ASSERT_NE(large, std::string::npos) << said.out;
  EXPECT_LT(large, small);
  EXPECT_THAT(said.out, HasSubstr("100.0%"));
}

TEST_F(QueriesTest, UndoReportsRestoredOpsAndRevokeCommand) {
  Options options = about(Verb::kUndo);
  options.program = "train.py";
  const Said said = ask(options, 200, R"({"clients": [{"id": 3, "pid": 77, "program": "train.py",
      "launch_plan": "openmp=llvm wait=1ms blas=follow"}], "program": "train.py", "ops": 5,
      "revoked": false})");
  EXPECT_EQ(said.exit_code, 0);
  EXPECT_THAT(request_, StartsWith("POST /v1/undo "));
  EXPECT_THAT(request_, HasSubstr("\r\n\r\n{\"program\":\"train.py\"}"));
  EXPECT_THAT(said.out, HasSubstr("client 3  pid 77  train.py: every op is at the program's own"));
  EXPECT_THAT(said.out, HasSubstr("(openmp=llvm wait=1ms blas=follow) stays until it ends"));
  EXPECT_THAT(said.out, HasSubstr("5 places ran at another width"));
  EXPECT_THAT(said.out, HasSubstr("optile undo --program train.py --revoke"));
}

TEST_F(QueriesTest, UndoWithoutTargetListsClients) {
  const Said said = ask(about(Verb::kUndo), 200,
                        R"({"clients": [{"id": 3, "pid": 77, "program": "/opt/omp2"}]})");
  EXPECT_EQ(said.exit_code, 125);
  EXPECT_THAT(request_, StartsWith("GET /v1/status ")) << "nothing is undone";
  EXPECT_THAT(said.err, HasSubstr("--all for every program"));
  EXPECT_THAT(said.err, HasSubstr("client 3  pid 77  /opt/omp2\n"));
  Options revoked = about(Verb::kUndo);
  revoked.revoke = true;
  EXPECT_EQ(ask(revoked).exit_code, 125);
}

TEST_F(QueriesTest, UndoOfAllIsSentInRequest) {
  Options options = about(Verb::kUndo);
  options.all = true;
  options.revoke = true;
  const Said said =
      ask(options, 200, R"({"clients": [], "program": null, "ops": 0, "revoked": true})");
  EXPECT_THAT(request_, HasSubstr("\r\n\r\n{\"all\":true,\"revoke\":true}"));
  EXPECT_THAT(said.out, HasSubstr("later runs of every program are tuned again"));
}

TEST_F(QueriesTest, RejectsUnknownOrAmbiguousProgramNames) {
  constexpr const char* kClients = R"({"clients": [
      {"id": 3, "pid": 77, "program": "/opt/omp2", "state": "running"},
      {"id": 5, "pid": 78, "program": "/opt/sort", "state": "running"},
      {"id": 6, "pid": 79, "program": "/usr/bin/sort", "state": "running"}]})";
  Options options = about(Verb::kPause);
  options.client = "omp";
  Said said = ask(options, 200, kClients);
  EXPECT_EQ(said.exit_code, 1);
  EXPECT_THAT(request_, StartsWith("GET /v1/clients "));
  EXPECT_THAT(said.err, HasSubstr("no program called omp is known"));
  std::filesystem::remove(folder_ / "s");
  options.client = "sort";
  said = ask(options, 200, kClients);
  EXPECT_EQ(said.exit_code, 1);
  EXPECT_THAT(said.err, HasSubstr("several clients run sort: 5 (pid 78), 6 (pid 79)"));
}

constexpr const char* kLeases = R"({"budget": {"cores": 4}, "held_cores": 3.5, "lent_cores": 1,
    "clients": [
      {"id": 1, "pid": 70, "program": "train.py", "cores": [0, 1, 3], "fraction": 1.0, "share": 2,
       "priority": "normal", "pinned": true, "paused": false, "idle": false, "late": false,
       "borrowed": 0, "reason": "client 1 from 4 cores to 3 cores: the user pinned client 1"},
      {"id": 2, "pid": 71, "program": "stencil", "cores": [2], "fraction": 0.5, "share": 1,
       "priority": "batch", "pinned": false, "paused": true, "idle": false, "late": false,
       "borrowed": 1, "reason": "client 2 arrived", "team": "its teams keep 4 threads"}],
    "unleased": [{"id": 5, "pid": 72, "program": "watched", "mode": "observe"}]})";

TEST_F(QueriesTest, LeaseTableShowsReasons) {
  const Said said = ask(about(Verb::kLeases), 200, kLeases);
  EXPECT_EQ(said.exit_code, 0);
  EXPECT_THAT(request_, StartsWith("GET /v1/leases "));
  EXPECT_THAT(said.out, HasSubstr("budget  4 cores; 3.5 held by leases, 1 lent, 0 left to others"));
  EXPECT_THAT(said.out, HasSubstr("0-1,3"));
  EXPECT_THAT(said.out, HasSubstr("0.50 of 2"));
  EXPECT_THAT(said.out, HasSubstr("paused,borrows,wide"));
  EXPECT_THAT(said.out, HasSubstr("stencil: client 2 arrived; its teams keep 4 threads\n"));
  EXPECT_THAT(said.out, HasSubstr("train.py: client 1 from 4 cores to 3 cores: the user pinned"));
  EXPECT_THAT(said.out, HasSubstr("client 5  pid 72  watched: no lease"));
}

TEST_F(QueriesTest, LeaseCommandIsSentAndResultPrinted) {
  struct Case {
    Verb verb;
    const char* sent;
  };
  for (const Case& one : {Case{Verb::kShare, R"({"client":1,"share":2.0})"},
                          {Verb::kPin, R"("pin":"0-1,3")"},
                          {Verb::kUnpin, R"("unpin":true)"},
                          {Verb::kPause, R"("pause":true)"},
                          {Verb::kResume, R"("resume":true)"},
                          {Verb::kDetach, R"("detach":true)"},
                          {Verb::kAttach, R"("attach":true)"}}) {
    std::filesystem::remove(folder_ / "s");
    Options options = about(one.verb);
    options.client = "1";
    options.share = "2";
    options.cores = "0-1,3";
    const Said said = ask(options, 200, kLeases);
    EXPECT_EQ(said.exit_code, 0);
    EXPECT_THAT(request_, StartsWith("POST /v1/leases "));
    EXPECT_THAT(request_, HasSubstr(one.sent));
    EXPECT_EQ(said.out, "client 1  train.py: cores 0-1,3, share 2, pinned\n");
  }
}

TEST_F(QueriesTest, PrintsUnfulfilledLeaseCommands) {
  constexpr const char* kAnswer = R"({"clients": [{"id": 1, "program": "train.py", "cores": [0],
      "fraction": 1.0, "share": 1,
      "unkept": ["pinned to cores 2: core 2 is pinned to client 3"]}]})";
  for (const Verb verb : {Verb::kAttach, Verb::kLeases}) {
    std::filesystem::remove(folder_ / "s");
    Options options = about(verb);
    options.client = "1";
    const Said said = ask(options, 200, kAnswer);
    EXPECT_THAT(said.out,
                HasSubstr("; not kept: pinned to cores 2: core 2 is pinned to client 3\n"));
  }
}

TEST_F(QueriesTest, SurvivesMalformedLeaseAnswers) {
  for (const char* body :
       {R"({"clients": [{"unkept": [1, {}]}, {"unkept": 2}]})",
        R"({"clients": [{"cores": ["x", {}], "share": "a"}]})", R"({"clients": [3]})",
        R"({"clients": [{"cores": 7, "id": "x", "pinned": 3}]})", "{}"}) {
    for (const Verb verb : {Verb::kLeases, Verb::kPause}) {
      std::filesystem::remove(folder_ / "s");
      Options options = about(verb);
      options.client = "1";
      const Said said = ask(options, 200, body);
      EXPECT_TRUE(said.exit_code == 0 || !said.err.empty()) << body;
    }
  }
}

TEST_F(QueriesTest, OpsWithoutTimeHaveZeroShare) {
  const Said said =
      ask(about(Verb::kOps), 200, R"({"ops": [{"client": 1, "id": "a", "seconds": 0}]})");
  EXPECT_EQ(said.exit_code, 0);
  EXPECT_THAT(said.out, HasSubstr("0.0%"));
}

TEST_F(QueriesTest, JsonOptionPrintsDaemonAnswer) {
  Options options = about(Verb::kStatus);
  options.json = true;
  const Said said = ask(options, 200, R"({"pid": 7, "clients": []})");
  EXPECT_EQ(said.exit_code, 0);
  EXPECT_EQ(said.out, "{\n  \"clients\": [],\n  \"pid\": 7\n}\n");
}

TEST_F(QueriesTest, ExplanationShowsCurveAndProvenance) {
  const Said said = ask(about(Verb::kExplain), 200, R"({"more": 2, "explanations": [{
      "name": "aten::addmm", "shape": "[8,8]", "id": "00ff", "sentence": "width 2: planned",
      "curve": [{"width": 2, "binding": "none", "median_ns": 1000, "count": 8, "kind": "sampled"}],
      "runner_up": {"width": 4}, "provenance": {"source": "this_run", "made_at": null},
      "switching_cost": {"ns": 5000, "measured": true}, "cap": 4,
      "user": {"own_width": 4, "source": "environment"}}]})");
  EXPECT_EQ(said.exit_code, 0);
  for (const char* part :
       {"aten::addmm [8,8]  (00ff)", "width 2: planned", "8 samples", "runner-up: width 4",
        "this_run", "5.0 us (measured)", "set by environment; never wider than 4", "and 2 more"}) {
    EXPECT_THAT(said.out, HasSubstr(part));
  }
}

TEST_F(QueriesTest, ReportsMalformedStatusAnswers) {
  for (const char* body : {"garbage", "[]", R"({"store": 3, "machine": "x", "clients": 5})"}) {
    std::filesystem::remove(folder_ / "s");
    const Said said = ask(about(Verb::kStatus), 200, body);
    EXPECT_EQ(said.exit_code, 1) << body;
    EXPECT_THAT(said.err, StartsWith("optile: "));
  }
}

TEST_F(QueriesTest, StopRejectsInvalidDaemonPid) {
  for (const char* body : {R"({"pid": 1})", R"({"pid": -1})", "{}"}) {
    std::filesystem::remove(folder_ / "s");
    const Said said = ask(about(Verb::kStop), 200, body);
    EXPECT_EQ(said.exit_code, 1) << body;
    EXPECT_THAT(said.err, HasSubstr("cannot be ended"));
  }
}

}  // namespace
}  // namespace optile::cli
