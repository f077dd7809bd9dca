#include "bindings/cli/query/queries.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bindings/cli/query/explanation.h"
#include "bindings/cli/query/lease_commands.h"
#include "tests/cli/fixtures/files.h"
#include "tests/cli/fixtures/golden.h"
#include "tests/cli/fixtures/one_answer.h"

namespace optile::cli {
namespace {

using testing::ElementsAre;
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
    std::filesystem::remove(folder_ / "s");
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

constexpr const char* kLeases = R"({"budget": {"cores": 4}, "held_cores": 3.5, "lent_cores": 1,
    "clients": [
      {"id": 1, "pid": 70, "program": "train.py", "cores": [0, 1, 3], "fraction": 1.0, "share": 2,
       "priority": "normal", "pinned": true, "paused": false, "idle": false, "late": false,
       "borrowed": 0, "reason": "client 1 from 4 cores to 3 cores: the user pinned client 1"},
      {"id": 2, "pid": 71, "program": "stencil", "cores": [2], "fraction": 0.5, "share": 1,
       "priority": "batch", "pinned": false, "paused": true, "idle": false, "late": false,
       "borrowed": 1, "reason": "client 2 arrived", "team": "its teams keep 4 threads"}],
    "unleased": [{"id": 5, "pid": 72, "program": "watched", "mode": "observe"}]})";

constexpr const char* kPending = R"({"clients": [{"id": 1, "program": "train.py", "cores": [0],
    "fraction": 1.0, "share": 1,
    "pending": ["pinned to cores 2: core 2 is pinned to client 3"]}]})";

constexpr const char* kClients = R"({"clients": [
    {"id": 3, "pid": 77, "program": "/opt/omp2", "state": "running"},
    {"id": 5, "pid": 78, "program": "/opt/sort", "state": "running"},
    {"id": 6, "pid": 79, "program": "/usr/bin/sort", "state": "running"}]})";

constexpr const char* kUndone = R"({"clients": [{"id": 3, "pid": 77, "program": "train.py",
    "launch_plan": "openmp=llvm wait=1ms blas=follow"}], "program": "train.py", "ops": 5,
    "revoked": false})";

constexpr const char* kRevoked = R"({"clients": [], "program": null, "ops": 0, "revoked": true})";

constexpr const char* kExplained = R"({"more": 2, "explanations": [{
    "name": "aten::addmm", "shape": "[8,8]", "id": "00ff", "sentence": "width 2: planned",
    "curve": [{"width": 2, "binding": "none", "median_ns": 1000, "count": 8, "kind": "sampled"}],
    "runner_up": {"width": 4}, "provenance": {"source": "this_run", "made_at": null},
    "switching_cost": {"ns": 5000, "measured": true}, "cap": 4,
    "user": {"default_width": 4, "source": "environment"}}]})";

Options of_client(Verb verb, const std::string& client) {
  Options options = about(verb);
  options.query.client = client;
  return options;
}

Options undo_of(const std::string& program, bool revoke) {
  Options options = about(Verb::kUndo);
  options.query.program = program;
  options.query.all = program.empty();
  options.query.revoke = revoke;
  return options;
}

TEST_F(QueriesTest, LeasesMatchGoldenFile) {
  Golden golden("leases");
  golden.add("leases", ask(about(Verb::kLeases), 200, kLeases).out);
  golden.add("no client", ask(about(Verb::kLeases), 200, "{}").out);
  golden.add("a command that is not fulfilled", ask(about(Verb::kLeases), 200, kPending).out);
  golden.add("after a command", ask(of_client(Verb::kPause, "1"), 200, kLeases).out);
  golden.add("after a detachment", ask(of_client(Verb::kDetach, "5"), 200, kLeases).out);
  golden.add("of an unknown program", ask(of_client(Verb::kPause, "omp"), 200, kClients).err);
  golden.add("of an ambiguous program", ask(of_client(Verb::kPause, "sort"), 200, kClients).err);
  golden.check();
}

TEST_F(QueriesTest, UndoMatchesGoldenFile) {
  Golden golden("undo");
  golden.add("undone", ask(undo_of("train.py", false), 200, kUndone).out);
  golden.add("revoked for all", ask(undo_of("", true), 200, kRevoked).out);
  golden.add("without a target", ask(about(Verb::kUndo), 200, kClients).err);
  golden.check();
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
  options.query.op = "aten::x y";
  const Said said = ask(options, 404, R"({"error": {"message": "none; see /v1/ops"}})");
  EXPECT_EQ(said.exit_code, 1);
  EXPECT_EQ(said.err, "optile: none; see optile ops\n");
  EXPECT_THAT(request_, StartsWith("GET /v1/ops/aten%3A%3Ax%20y/explain "));
}

TEST_F(QueriesTest, ClientRefusalNamesStatusCommand) {
  const Said said =
      ask(of_client(Verb::kOps, "9"), 404, R"({"error": {"message": "none; see /v1/clients"}})");
  EXPECT_EQ(said.err, "optile: none; see optile status\n");
}

std::string explained(const char* source, const char* respect, bool binds) {
  return explanation_text(
      {{"name", "aten::mm"},
       {"cap", 3},
       {"user",
        {{"default_width", 4}, {"source", source}, {"respect", respect}, {"binds", binds}}}});
}

std::string explained_limit() {
  const Json pools = {
      {{"name", "MKL_NUM_THREADS"}, {"count", 2}, {"consequence", "MKL never uses more"}}};
  return explanation_text({{"name", "aten::mm"},
                           {"cap", 3},
                           {"user",
                            {{"default_width", 3},
                             {"source", "environment"},
                             {"respect", "cap"},
                             {"binds", true},
                             {"variable", "OMP_THREAD_LIMIT"},
                             {"pools", pools}}}});
}

TEST(Explanation, MatchesGoldenFile) {
  Golden golden("explain");
  golden.add("planned", explanation_text(Json::parse(kExplained)["explanations"][0]));
  golden.add("capped by the environment", explained("environment", "cap", true));
  golden.add("exactly as the program set", explained("program", "exact", true));
  golden.add("ignored", explained("launcher", "ignore", false));
  golden.add("by default", explained("default", "cap", false));
  golden.add("limits of other pools", explained_limit());
  golden.check();
}

TEST(Explanation, RepeatsUserWidthAndItsSource) {
  const std::string capped = field(explained("environment", "cap", true), "you said so:");
  EXPECT_THAT(numbers_in(capped), ElementsAre(4, 3));
  EXPECT_THAT(capped, HasSubstr("(OMP_NUM_THREADS)"));
  const std::string exact = field(explained("program", "exact", true), "you said so:");
  EXPECT_THAT(exact, StartsWith("exactly 4"));
  EXPECT_THAT(exact, HasSubstr("program, --respect exact)"));
  const std::string ignored = explained("launcher", "ignore", false);
  EXPECT_EQ(field(ignored, "you said so:"), "");
  EXPECT_THAT(numbers_in(field(ignored, "default width")), ElementsAre(4, 3));
  EXPECT_THAT(field(ignored, "default width"), HasSubstr("set by launcher"));
  EXPECT_THAT(field(ignored, "default width"), testing::EndsWith("(--respect ignore)"));
  EXPECT_EQ(field(explained("default", "cap", false), "you said so:"), "");
}

TEST(Explanation, NamesEveryThreadCountVariable) {
  const std::string text = explained_limit();
  const std::string first = field(text, "you said so:");
  EXPECT_THAT(numbers_in(first), ElementsAre(3, 3));
  EXPECT_THAT(first, HasSubstr("(OMP_THREAD_LIMIT)"));
  EXPECT_THAT(text, HasSubstr("you said so: MKL_NUM_THREADS=2; "));
}

TEST_F(QueriesTest, OpsAreSortedByShareOfStep) {
  Options options = about(Verb::kOps);
  options.query.client = "1";
  const Said said = ask(options, 200, R"({"ops": [
      {"client": 1, "id": "a", "seconds": 0.001, "width": 1, "default_width": 4, "name": "small"},
      {"client": 1, "id": "b", "seconds": 0.003, "width": 4, "default_width": 4, "name": "large"},
      {"client": 2, "id": "c", "seconds": 9, "width": 4, "default_width": 4, "name": "other"}]})");
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
  const Said said = ask(undo_of("train.py", false), 200, kUndone);
  EXPECT_EQ(said.exit_code, 0);
  EXPECT_THAT(request_, StartsWith("POST /v1/undo "));
  EXPECT_THAT(request_, HasSubstr("\r\n\r\n{\"program\":\"train.py\"}"));
  EXPECT_THAT(said.out, HasSubstr("client 3  pid 77  train.py: "));
  EXPECT_THAT(said.out, HasSubstr("(openmp=llvm wait=1ms blas=follow)"));
  EXPECT_THAT(said.out, HasSubstr("\n5 places "));
  EXPECT_THAT(said.out, HasSubstr("optile undo --program train.py --revoke"));
}

TEST_F(QueriesTest, UndoWithoutTargetListsClients) {
  const Said said = ask(about(Verb::kUndo), 200,
                        R"({"clients": [{"id": 3, "pid": 77, "program": "/opt/omp2"}]})");
  EXPECT_EQ(said.exit_code, 125);
  EXPECT_THAT(request_, StartsWith("GET /v1/status ")) << "nothing is undone";
  EXPECT_THAT(said.err, HasSubstr("--all"));
  EXPECT_THAT(said.err, HasSubstr("client 3  pid 77  /opt/omp2\n"));
  Options revoked = about(Verb::kUndo);
  revoked.query.revoke = true;
  EXPECT_EQ(ask(revoked).exit_code, 125);
}

TEST_F(QueriesTest, UndoOfAllIsSentInRequest) {
  EXPECT_EQ(ask(undo_of("", true), 200, kRevoked).exit_code, 0);
  EXPECT_THAT(request_, HasSubstr("\r\n\r\n{\"all\":true,\"revoke\":true}"));
}

TEST_F(QueriesTest, RejectsUnknownOrAmbiguousProgramNames) {
  Said said = ask(of_client(Verb::kPause, "omp"), 200, kClients);
  EXPECT_EQ(said.exit_code, 1);
  EXPECT_THAT(request_, StartsWith("GET /v1/clients "));
  EXPECT_THAT(said.err, HasSubstr(" omp "));
  said = ask(of_client(Verb::kPause, "sort"), 200, kClients);
  EXPECT_EQ(said.exit_code, 1);
  EXPECT_THAT(said.err, HasSubstr("sort: 5 (pid 78), 6 (pid 79)"));
}

TEST_F(QueriesTest, LeaseTableShowsReasons) {
  const Said said = ask(about(Verb::kLeases), 200, kLeases);
  EXPECT_EQ(said.exit_code, 0);
  EXPECT_THAT(request_, StartsWith("GET /v1/leases "));
  EXPECT_THAT(numbers_in(field(said.out, "budget")), ElementsAre(4, 3.5, 1, 0));
  const Json clients = Json::parse(kLeases)["clients"];
  const std::string first = field(said.out, "1");
  EXPECT_THAT(first, StartsWith("0-1,3 "));
  EXPECT_THAT(first, testing::EndsWith("train.py: " + text_of(clients[0], "reason")));
  const std::string second = field(said.out, "2");
  EXPECT_THAT(second, StartsWith("0.50 of 2 "));
  EXPECT_THAT(second, HasSubstr(" paused,borrows,wide "));
  EXPECT_THAT(second, testing::EndsWith("stencil: " + text_of(clients[1], "reason") + "; " +
                                        text_of(clients[1], "team")));
  EXPECT_THAT(said.out, HasSubstr("client 5  pid 72  watched: "));
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
    Options options = of_client(one.verb, "1");
    options.query.share = "2";
    options.query.cores = "0-1,3";
    const Said said = ask(options, 200, kLeases);
    EXPECT_EQ(said.exit_code, 0);
    EXPECT_THAT(request_, StartsWith("POST /v1/leases "));
    EXPECT_THAT(request_, HasSubstr(one.sent));
    EXPECT_EQ(said.out, lease_line(Json::parse(kLeases), 1));
  }
}

TEST_F(QueriesTest, PrintsUnfulfilledLeaseCommands) {
  const std::string pending = Json::parse(kPending)["clients"][0]["pending"][0];
  for (const Verb verb : {Verb::kAttach, Verb::kLeases}) {
    const Said said = ask(of_client(verb, "1"), 200, kPending);
    EXPECT_THAT(said.out, HasSubstr("; pending: " + pending + "\n"));
  }
}

TEST_F(QueriesTest, SurvivesMalformedLeaseAnswers) {
  for (const char* body :
       {R"({"clients": [{"pending": [1, {}]}, {"pending": 2}]})",
        R"({"clients": [{"cores": ["x", {}], "share": "a"}]})", R"({"clients": [3]})",
        R"({"clients": [{"cores": 7, "id": "x", "pinned": 3}]})", "{}"}) {
    for (const Verb verb : {Verb::kLeases, Verb::kPause}) {
      const Said said = ask(of_client(verb, "1"), 200, body);
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
  const Said said = ask(about(Verb::kExplain), 200, kExplained);
  EXPECT_EQ(said.exit_code, 0);
  for (const char* part :
       {"aten::addmm [8,8]  (00ff)", "width 2: planned", "8 samples", "runner-up: width 4",
        "this_run", "5.0 us (measured)", "set by environment; ", "and 2 more"}) {
    EXPECT_THAT(said.out, HasSubstr(part));
  }
  EXPECT_THAT(numbers_in(field(said.out, "default width")), ElementsAre(4, 4));
}

TEST_F(QueriesTest, ReportsMalformedStatusAnswers) {
  for (const char* body : {"garbage", "[]", R"({"store": 3, "machine": "x", "clients": 5})"}) {
    const Said said = ask(about(Verb::kStatus), 200, body);
    EXPECT_EQ(said.exit_code, 1) << body;
    EXPECT_THAT(said.err, StartsWith("optile: "));
  }
}

TEST_F(QueriesTest, StopRejectsInvalidDaemonPid) {
  for (const char* body : {R"({"pid": 1})", R"({"pid": -1})", "{}"}) {
    const Said said = ask(about(Verb::kStop), 200, body);
    EXPECT_EQ(said.exit_code, 1) << body;
    EXPECT_THAT(said.err, HasSubstr("cannot be ended"));
  }
}

}  // namespace
}  // namespace optile::cli
