#include "daemon/api/api.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <fstream>
#include <set>

#include "base/cpu_counter.h"
#include "tests/daemon/api/described_fields.h"
#include "tests/daemon/fixtures/running_daemon.h"
#include "tests/daemon/fixtures/simulated_program.h"

namespace optile::daemon {
namespace {

class ApiTest : public testing::Test {
 protected:
  ApiTest() : running_(test_config(directory_)) {}
  TemporaryDirectory directory_;
  RunningDaemon running_;
};

// A client that runs steps of two ops until the daemon knows them, and is still attached.
struct Observed {
  Observed(RunningDaemon& running, const std::string& program)
      : connection(attach_path(running.config())),
        clock_ns(base::monotonic_ns() /
                 2),  // its events are in the past, since the machine started
        simulated(running.attach(connection, make_attach_request(program)), {},
                  {{0xabc, "aten::mm", [](int width) { return 4000000u / unsigned(width); }},
                   {0xdef, "aten::add", [](int) { return 100000u; }}},
                  4, &clock_ns) {
    EXPECT_TRUE(running.serve_until([&] {
      simulated.run_step();
      running.daemon().controller().drain();
      const std::vector<ClientView> views = running.daemon().controller().attached();
      return !views.empty() && views[0].session && !views[0].session->ops.empty();
    }));
  }
  FakeConnection connection;
  uint64_t clock_ns;
  SimulatedProgram simulated;
};

TEST_F(ApiTest, StatusDescribesDaemonMachineAndBudget) {
  const Answer answer = running_.get("/v1/status");
  EXPECT_EQ(answer.status, 200);
  EXPECT_NE(answer.head.find("application/json"), std::string::npos);
  const nlohmann::json json = answer.json();
  EXPECT_EQ(json["pid"], getpid());
  EXPECT_FALSE(json["version"].get<std::string>().empty());
  EXPECT_GE(json["uptime_seconds"].get<double>(), 0);
  EXPECT_EQ(json["store"]["state"], "in_memory");
  EXPECT_EQ(json["machine"]["cores"], 4);
  EXPECT_EQ(json["budget"]["cores"], 4);
  EXPECT_TRUE(json["clients"].empty());
}

TEST_F(ApiTest, ClientsAreListedAndFoundById) {
  Observed observed(running_, "train");
  const nlohmann::json list = running_.get("/v1/clients").json()["clients"];
  ASSERT_EQ(list.size(), 1u);
  EXPECT_EQ(list[0]["program"], "train");
  EXPECT_EQ(list[0]["state"], "running");
  EXPECT_EQ(list[0]["openmp_runtime"], "libgomp");
  EXPECT_EQ(list[0]["widths"], nlohmann::json({{"least", 4}, {"most", 4}}));
  const std::string path = "/v1/clients/" + list[0]["id"].dump();
  EXPECT_EQ(running_.get(path).json()["default_width"], 4);
  EXPECT_EQ(running_.get("/v1/clients/99").status, 404);
  EXPECT_EQ(running_.get("/v1/clients/x").status, 404);
}

TEST_F(ApiTest, StatusShowsRunningTrials) {
  Observed observed(running_, "train");
  EXPECT_TRUE(running_.serve_until([&] {
    observed.simulated.run_step();
    running_.daemon().controller().drain();
    return running_.daemon().controller().attached()[0].trials.ops > 0;
  }));
  const nlohmann::json client = running_.get("/v1/status").json()["clients"][0];
  EXPECT_EQ(client["phase"], "exploring");
  EXPECT_GE(client["trials"]["ops"], 1);
  EXPECT_FALSE(client["trials"]["widths"].empty());
  for (const nlohmann::json& width : client["trials"]["widths"]) EXPECT_LT(width, 4);
}

TEST_F(ApiTest, OpsAreListedAndExplained) {
  Observed observed(running_, "train");
  const nlohmann::json json = running_.get("/v1/ops").json();
  ASSERT_EQ(json["clients"].size(), 1u);
  EXPECT_EQ(running_.get("/v1/ops?client=99").status, 404);
  ASSERT_FALSE(json["ops"].empty());
  const nlohmann::json& row = json["ops"][0];
  for (const char* key : {"id", "key", "name", "shape", "width", "default_width", "per_step",
                          "seconds", "reason", "runner_up"}) {
    EXPECT_TRUE(row.contains(key)) << key;
  }
  for (const std::string& id : {row["id"].get<std::string>(), row["key"].get<std::string>(),
                                std::string("aten::"), std::string("aten%3A%3Amm")}) {
    const Answer answer = running_.get("/v1/ops/" + id + "/explain");
    ASSERT_EQ(answer.status, 200) << id;
    const nlohmann::json first = answer.json()["explanations"][0];
    for (const char* key : {"curve", "runner_up", "provenance", "reason", "sentence",
                            "switching_cost", "user", "cap"}) {
      EXPECT_TRUE(first.contains(key)) << key;
    }
    EXPECT_EQ(first["user"]["source"], "launcher");
  }
  EXPECT_EQ(running_.get("/v1/ops/aten::mm/explain?client=x").status, 400);
  EXPECT_EQ(running_.get("/v1/ops/nothing/explain").status, 404);
  EXPECT_EQ(running_.get("/v1/ops//explain").status, 404);
}

TEST_F(ApiTest, OpsOfLastClientStayVisible) {
  {
    Observed observed(running_, "train");
    observed.connection.hang_up();
    running_.serve_until([&] { return running_.daemon().controller().client_count() == 0; });
  }
  const nlohmann::json json = running_.get("/v1/ops").json();
  ASSERT_EQ(json["clients"].size(), 1u);
  EXPECT_EQ(json["clients"][0]["state"], "finished");
  EXPECT_EQ(running_.get("/v1/ops/aten::mm/explain").json()["explanations"][0]["state"],
            "finished");
}

TEST_F(ApiTest, ClientWithoutStepsDoesNotHideEarlierOps) {
  const auto left = [this] { return running_.daemon().controller().client_count() == 0; };
  {
    Observed observed(running_, "train");
    observed.connection.hang_up();
    ASSERT_TRUE(running_.serve_until(left));
  }
  FakeConnection connection(attach_path(running_.config()));
  running_.attach(connection, make_attach_request("short"));
  connection.hang_up();
  ASSERT_TRUE(running_.serve_until(left));
  const nlohmann::json json = running_.get("/v1/ops").json();
  ASSERT_EQ(json["clients"].size(), 1u);
  EXPECT_EQ(json["clients"][0]["program"], "train");
  EXPECT_FALSE(json["ops"].empty());
}

TEST_F(ApiTest, ExplainsUnattachedOpsFromStore) {
  SettledRecord record;
  record.conditions.machine = running_.daemon().controller().machine().fingerprint;
  record.conditions.program = {"/usr/bin/python3", "train.py", ""};
  record.when = 1700000000;
  record.settled.profiles = {{0x77, "aten::bmm", "[3]", {1, perfmodel::Binding::kNone}, 9, 50},
                             {0x77, "aten::bmm", "[3]", {2, perfmodel::Binding::kNone}, 8, 30}};
  ASSERT_TRUE(running_.daemon().controller().history().store().write({{record}, {}, {}}).ok());
  const nlohmann::json json = running_.get("/v1/ops/aten::bmm/explain").json();
  ASSERT_EQ(json["explanations"].size(), 1u);
  EXPECT_EQ(json["explanations"][0]["provenance"]["source"], "store");
  EXPECT_EQ(json["explanations"][0]["provenance"]["made_at"], "2023-11-14T22:13:20Z");
  EXPECT_EQ(json["explanations"][0]["curve"].size(), 2u);
}

TEST_F(ApiTest, MachineDescribesCores) {
  const nlohmann::json json = running_.get("/v1/machine").json();
  EXPECT_EQ(json["machine"]["cores"], 4);
}

TEST_F(ApiTest, ReportStateFollowsRun) {
  EXPECT_EQ(running_.get("/v1/runs/run-train/report").json()["state"], "unknown");
  {
    Observed observed(running_, "train");
    EXPECT_EQ(running_.get("/v1/runs/run-train/report").json()["state"], "running");
    observed.connection.hang_up();
    running_.serve_until([&] { return running_.daemon().controller().client_count() == 0; });
  }
  const nlohmann::json json = running_.get("/v1/runs/run-train/report").json();
  EXPECT_EQ(json["state"], "finished");
  EXPECT_EQ(json["program"], "train");
}

TEST_F(ApiTest, LaunchReturnsPlanAndRejectsInvalidBodies) {
  const Answer answer = running_.post(
      "/v1/launch",
      R"({"program":"train.py","executable":"/usr/bin/python3","arguments":["a","b"],)"
      R"("user_environment":{"OMP_WAIT_POLICY":"active"},"blas_provider":"openblas-pthread"})");
  EXPECT_EQ(answer.status, 200);
  const nlohmann::json json = answer.json();
  EXPECT_TRUE(json["environment"].is_object());
  EXPECT_FALSE(json["preload_libomp"].get<bool>());
  EXPECT_FALSE(json["text"].get<std::string>().empty());
  EXPECT_TRUE(json["reasons"].is_array());
  EXPECT_EQ(running_.post("/v1/launch", "").status, 400);
  EXPECT_EQ(running_.post("/v1/launch", "[1]").status, 400);
  EXPECT_EQ(running_.post("/v1/launch", R"({"openmp":"intel"})").status, 400);
  EXPECT_EQ(running_.post("/v1/launch", R"({"heap":"jemalloc"})").status, 400);
  const auto text = [this](const std::string& body) {
    return running_.post("/v1/launch", body).json()["text"].get<std::string>();
  };
  EXPECT_EQ(text(R"({"renews_blocks":true})"), "openmp=keep wait=keep blas=keep heap=256MiB");
  EXPECT_EQ(text(R"({"renews_blocks":true,"heap":"keep"})"), "openmp=keep wait=keep blas=keep");
  EXPECT_EQ(text(R"({"renews_blocks":true,"sets_up_malloc":true})"),
            "openmp=keep wait=keep blas=keep");
  EXPECT_EQ(running_.post("/v1/launch", R"({"program":7})").status, 400);
  EXPECT_EQ(running_.post("/v1/launch", R"({"arguments":[1,{}]})").status, 400);
}

// What a refusal says; "" where it was none, or of another kind.
std::string refusal(const Answer& answer, int status) {
  EXPECT_EQ(answer.status, status) << answer.body;
  if (answer.status != status) return "";
  return answer.json()["error"]["message"].get<std::string>();
}

TEST_F(ApiTest, UndoOfEverythingRequiresAllField) {
  const nlohmann::json all = running_.post("/v1/undo", R"({"all":true})").json();
  EXPECT_TRUE(all["clients"].empty());
  EXPECT_TRUE(all["program"].is_null());
  EXPECT_EQ(all["ops"], 0);
  EXPECT_TRUE(running_.post("/v1/undo", R"({"all":true,"revoke":true})").json()["revoked"]);
  for (const char* body : {"",
                           "{}",
                           "[]",
                           "7",
                           R"({"clinet":3})",
                           R"({"client":0})",
                           R"({"client":"3"})",
                           R"({"client":-1})",
                           R"({"client":1.5})",
                           R"({"client":1e300})",
                           R"({"client":null})",
                           R"({"revoke":"yes"})",
                           R"({"revoke":true})",
                           R"({"all":false})",
                           R"({"all":1})",
                           R"({"all":true,"all":true})",
                           R"({"all":true,"client":1})",
                           R"({"program":""})",
                           R"({"program":7})",
                           R"({"op":""})",
                           R"({"op":"x","revoke":true})",
                           R"({"op":"x","all":true})",
                           R"({"all":true} x)"}) {
    EXPECT_FALSE(refusal(running_.post("/v1/undo", body), 400).empty()) << body;
  }
  EXPECT_NE(refusal(running_.post("/v1/undo", R"({"clinet":3})"), 400).find("clinet"),
            std::string::npos);
}

TEST_F(ApiTest, RejectedUndoChangesNothing) {
  Observed observed(running_, "train");
  for (const char* body : {"{}", R"({"clinet":3})", R"({"client":0})", R"({"revoke":"yes"})"}) {
    EXPECT_EQ(running_.post("/v1/undo", body).status, 400) << body;
  }
  const nlohmann::json client = running_.get("/v1/clients").json()["clients"][0];
  EXPECT_TRUE(client["fallbacks"].empty()) << client;
}

TEST_F(ApiTest, UndoResolvesClientProgramOrOp) {
  EXPECT_EQ(running_.post("/v1/undo", R"({"client":77})").status, 404);
  EXPECT_EQ(running_.post("/v1/undo", R"({"op":"aten::mm"})").status, 404);
  Observed observed(running_, "/opt/anna/bin/train");
  EXPECT_NE(
      refusal(running_.post("/v1/undo", R"({"program":"rain"})"), 404).find("/opt/anna/bin/train"),
      std::string::npos);
  for (const char* name : {"train", "bin/train", "/opt/anna/bin/train"}) {
    const Answer answer = running_.post("/v1/undo", nlohmann::json{{"program", name}}.dump());
    ASSERT_EQ(answer.status, 200) << name << answer.body;
    const nlohmann::json one = answer.json();
    ASSERT_EQ(one["clients"].size(), 1u);
    EXPECT_EQ(one["clients"][0]["program"], "/opt/anna/bin/train");
    EXPECT_EQ(one["program"], "/opt/anna/bin/train");
  }
  Observed other(running_, "/opt/train");
  EXPECT_NE(refusal(running_.post("/v1/undo", R"({"program":"train"})"), 409).find("/opt/train"),
            std::string::npos);
  EXPECT_EQ(running_.post("/v1/undo", R"({"program":"/opt/train","revoke":true})").status, 200);
}

TEST_F(ApiTest, UndoFindsProgramOfEarlierRun) {
  SettledRecord record;
  record.conditions.machine = running_.daemon().controller().machine().fingerprint;
  record.conditions.program = {"/opt/omp2", "/opt/omp2", "omp2 800"};
  record.when = 1700000000;
  ASSERT_TRUE(running_.daemon().controller().history().store().write({{record}, {}, {}}).ok());
  const nlohmann::json undone = running_.post("/v1/undo", R"({"program":"omp2"})").json();
  EXPECT_EQ(undone["program"], "/opt/omp2");
  Conditions later = record.conditions;
  later.program.arguments = "omp2 900";
  EXPECT_TRUE(running_.daemon().controller().history().store().is_undone(later));
}

TEST_F(ApiTest, UnknownOrMalformedParametersAreRejected) {
  for (const char* target :
       {"/v1/status?x=1", "/v1/clients?client=1", "/v1/ops?clinet=1", "/v1/ops?client",
        "/v1/ops?client=", "/v1/ops?client=0", "/v1/ops?client=-1", "/v1/ops?client=1&client=1",
        "/v1/ops?client=99999999999999999999", "/v1/ops/aten::mm/explain?client=x",
        "/v1/machine?%zz=%&&=", "/v1/leases?a", "/metrics?name[]=up", "/v1/runs/r/report?&"}) {
    EXPECT_FALSE(refusal(running_.get(target), 400).empty()) << target;
  }
  EXPECT_EQ(running_.get("/v1/status?").status, 200);
  EXPECT_EQ(running_.get("/v1/ops/aten::mm/explain?client=9").status, 404);
  const std::string twice = R"({"user_environment":{"OMP_DYNAMIC":"1","OMP_DYNAMIC":"0"}})";
  for (const std::string& body :
       {twice, std::string(R"({"uses_openmp":"yes"})"), std::string(R"({"share":"2"})"),
        std::string(R"({"share":0})"), std::string(R"({"budget_cores":-1})"),
        std::string(R"({"budget_cores":1e9})"), std::string(R"({"user_environment":{"A":1}})"),
        std::string(R"({"wait":""})"), std::string(R"({"threads":4})"),
        std::string("{\"program\":\"\xff\"}")}) {
    EXPECT_FALSE(refusal(running_.post("/v1/launch", body), 400).empty()) << body;
  }
}

TEST_F(ApiTest, UnexpectedBodiesAndTypesAreRejected) {
  const auto sent = [this](const std::string& head, const std::string& body) {
    return running_.raw(head + " HTTP/1.1\r\nHost: x\r\nContent-Length: " +
                        std::to_string(body.size()) + "\r\n\r\n" + body);
  };
  EXPECT_EQ(sent("GET /v1/status", "{}").status, 400);
  const auto typed = [this](const std::string& type) {
    return running_.raw("POST /v1/undo HTTP/1.1\r\nHost: x\r\nContent-Type: " + type +
                        "\r\nContent-Length: 12\r\n\r\n{\"all\":true}");
  };
  EXPECT_EQ(typed("application/json").status, 200);
  EXPECT_EQ(typed("Application/JSON; charset=utf-8").status, 200);
  for (const char* type :
       {"text/plain", "application/x-www-form-urlencoded", "application/jsonl"}) {
    EXPECT_FALSE(refusal(typed(type), 415).empty()) << type;
  }
}

TEST_F(ApiTest, LeasesAreListed) {
  const nlohmann::json none = running_.get("/v1/leases").json();
  EXPECT_TRUE(none["clients"].empty());
  EXPECT_EQ(none["budget"]["cores"], 4);
  EXPECT_EQ(none["held_cores"], 0);
  FakeConnection connection(attach_path(running_.config()));
  optile_attach_request attach_request = make_attach_request("train");
  attach_request.share_milli = 3000;
  attach_request.priority = OPTILE_PRIORITY_BATCH;
  running_.attach(connection, attach_request);
  const nlohmann::json json = running_.get("/v1/leases").json();
  ASSERT_EQ(json["clients"].size(), 1u);
  const nlohmann::json& lease = json["clients"][0];
  EXPECT_EQ(lease["program"], "train");
  EXPECT_EQ(lease["cores"], nlohmann::json({0, 1, 2, 3}));
  EXPECT_EQ(lease["units"].size(), 4u);
  EXPECT_EQ(lease["share"], 3);
  EXPECT_EQ(lease["priority"], "batch");
  EXPECT_EQ(lease["fraction"], 1);
  for (const char* key : {"idle", "away", "paused", "pinned", "late"})
    EXPECT_EQ(lease[key], false) << key;
  EXPECT_FALSE(lease["reason"].get<std::string>().empty());
  EXPECT_EQ(json["held_cores"], 4);
  EXPECT_TRUE(json["unleased"].empty());
  EXPECT_EQ(json["cause"], "client 1 arrived");
  EXPECT_TRUE(lease["lends"].empty());
  EXPECT_TRUE(lease["progress"].is_null());
  ASSERT_EQ(json["recent"].size(), 1u);
  EXPECT_EQ(json["recent"][0]["client"], 1);
  EXPECT_EQ(json["recent"][0]["text"], lease["reason"]);
  EXPECT_FALSE(json["recent"][0]["at"].get<std::string>().empty());
}

TEST_F(ApiTest, LeaseCommandsSetSharePinAndPause) {
  FakeConnection connection(attach_path(running_.config()));
  running_.attach(connection, make_attach_request("train"));
  const auto say = [&](const std::string& words) {
    const Answer answer = running_.post("/v1/leases", R"({"client":1,)" + words + "}");
    EXPECT_EQ(answer.status, 200) << answer.body;
    const nlohmann::json clients = answer.json()["clients"];
    return clients.empty() ? nlohmann::json::object() : clients[0];
  };
  EXPECT_EQ(say(R"("share":2.5)")["share"], 2.5);
  EXPECT_EQ(running_.get("/v1/leases").json()["recent"][0]["text"],
            "client 1, by hand: share 2.500000");
  const nlohmann::json pinned = say(R"("pin":"0,2-3")");
  EXPECT_EQ(pinned["cores"], nlohmann::json({0, 2, 3}));
  EXPECT_EQ(pinned["pinned"], true);
  EXPECT_EQ(say(R"("pin":[1])")["cores"], nlohmann::json({1}));
  const nlohmann::json unpinned = say(R"("unpin":true)");
  EXPECT_EQ(unpinned["pinned"], false);
  EXPECT_EQ(unpinned["cores"].size(), 4u);
  EXPECT_EQ(say(R"("pause":true)")["paused"], true);
  EXPECT_EQ(say(R"("resume":true)")["paused"], false);
}

TEST_F(ApiTest, DetachedClientHasNoLease) {
  FakeConnection first(attach_path(running_.config()));
  FakeConnection second(attach_path(running_.config()));
  running_.attach(first, make_attach_request("train"));
  running_.attach(second, make_attach_request("infer"));
  const Answer answer = running_.post("/v1/leases", R"({"client":1,"detach":true})");
  ASSERT_EQ(answer.status, 200) << answer.body;
  const nlohmann::json json = answer.json();
  ASSERT_EQ(json["clients"].size(), 1u);
  EXPECT_EQ(json["clients"][0]["program"], "infer");
  EXPECT_EQ(json["clients"][0]["cores"].size(), 4u);
  ASSERT_EQ(json["unleased"].size(), 1u);
  EXPECT_EQ(json["unleased"][0]["program"], "train");
  EXPECT_EQ(json["unleased"][0]["detached"], true);
  EXPECT_NE(refusal(running_.post("/v1/leases", R"({"client":1,"pause":true})"), 409)
                .find("optile attach"),
            std::string::npos);
  const Answer back = running_.post("/v1/leases", R"({"client":1,"attach":true})");
  ASSERT_EQ(back.status, 200) << back.body;
  ASSERT_EQ(back.json()["clients"].size(), 2u);
  EXPECT_EQ(back.json()["clients"][0]["cores"].size(), 2u);
  EXPECT_NE(refusal(running_.post("/v1/leases", R"({"client":1,"attach":true})"), 409)
                .find("has not been detached"),
            std::string::npos);
}

TEST_F(ApiTest, InvalidLeaseCommandsAreRejectedWithReason) {
  FakeConnection first(attach_path(running_.config()));
  FakeConnection second(attach_path(running_.config()));
  running_.attach(first, make_attach_request("train"));
  running_.attach(second, make_attach_request("infer"));
  const auto post = [&](const std::string& body) { return running_.post("/v1/leases", body); };
  for (const char* body : {"",
                           "[]",
                           R"({"share":2})",
                           R"({"client":1})",
                           R"({"client":"1","share":2})",
                           R"({"client":1,"share":"2"})",
                           R"({"client":1,"share":0})",
                           R"({"client":1,"share":2e9})",
                           R"({"client":1,"share":2,"pause":true})",
                           R"({"client":1,"pin":""})",
                           R"({"client":1,"pin":"0,"})",
                           R"({"client":1,"pin":[-1]})",
                           R"({"client":1,"pin":[]})",
                           R"({"client":1,"pause":7})",
                           R"({"client":1,"pin":true})",
                           R"({"client":0,"pause":true})",
                           R"({"client":1,"pause":false})",
                           R"({"client":1,"pause":true,"unpin":false})",
                           R"({"client":1,"pause":true,"pause":true})",
                           R"({"client":1,"paws":true})"}) {
    EXPECT_FALSE(refusal(post(body), 400).empty()) << body;
  }
  EXPECT_NE(refusal(post(R"({"client":1,"pin":"4"})"), 409).find("not in the budget"),
            std::string::npos);
  for (const char* body :
       {R"({"client":1,"pin":"3-1"})", R"({"client":1,"pin":"0-99999999999"})"}) {
    EXPECT_FALSE(refusal(post(body), 409).empty()) << body;
  }
  EXPECT_NE(refusal(post(R"({"client":1,"pin":"0-3"})"), 409).find("fewer cores"),
            std::string::npos);
  EXPECT_EQ(post(R"({"client":1,"pin":"0-1"})").status, 200);
  EXPECT_NE(refusal(post(R"({"client":2,"pin":[1]})"), 409).find("take that back first"),
            std::string::npos);
  EXPECT_NE(refusal(post(R"({"client":9,"pause":true})"), 404).find("optile leases"),
            std::string::npos);
}

TEST_F(ApiTest, UnknownPathsMethodsAndBytesAreRejected) {
  EXPECT_EQ(running_.get("/").status, 404);
  EXPECT_EQ(running_.get("/v1/status/").status, 404);
  EXPECT_EQ(running_.get("/v1/clients/1/2").status, 404);
  const Answer answer = running_.post("/v1/status", "{}");
  EXPECT_EQ(answer.status, 405);
  EXPECT_NE(answer.head.find("Allow: GET"), std::string::npos);
  EXPECT_EQ(running_.raw("rubbish\r\n\r\n").status, 0);
  EXPECT_EQ(
      running_.raw("GET /v1/status HTTP/1.1\r\nA: " + std::string(40000, 'x') + "\r\n\r\n").status,
      0);
  EXPECT_EQ(running_.raw("POST /v1/launch HTTP/1.1\r\nContent-Length: 999999999\r\n\r\n{").status,
            413);
  EXPECT_EQ(running_.get("/v1/status").status, 200);
}

// F16: somebody asks and asks and never reads an answer. The daemon stops taking its questions,
// keeps one answer for it, and serves the others.
// fault: F16
TEST_F(ApiTest, NonReadingClientIsThrottled) {
  const base::UniqueFd stuck(connect_stream(running_.config().socket));
  ASSERT_TRUE(stuck.valid());
  const std::string question = "GET /v1/machine HTTP/1.1\r\nHost: x\r\n\r\n";
  std::size_t sent = 0;
  int refused = 0;  // in a row
  EXPECT_TRUE(running_.serve_until([&] {
    const ssize_t wrote =
        send(stuck.get(), question.data(), question.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    if (wrote > 0) sent += static_cast<std::size_t>(wrote);
    refused = wrote > 0 ? 0 : refused + 1;
    return refused > 20;
  }));
  EXPECT_LT(sent, 2 * kMaxRequestBytes + (std::size_t{1} << 20));  // ours and the socket's buffers
  EXPECT_EQ(running_.get("/v1/status").status, 200);
}

TEST_F(ApiTest, EveryFieldIsDocumented) {
  Observed observed(running_, "train");
  const std::set<std::string> none;
  const auto answer = [this](const std::string& path) { return running_.get(path).json(); };
  const nlohmann::json client = answer("/v1/clients")["clients"][0];
  EXPECT_EQ(undescribed(client, {"Client"}), none);
  EXPECT_EQ(undescribed(answer("/v1/clients/" + client["id"].dump()), {"Client", "ClientDetails"}),
            none);
  EXPECT_EQ(undescribed(answer("/v1/ops")["ops"][0], {"Op"}), none);
  EXPECT_EQ(undescribed(answer("/v1/leases"), {"Leases"}), none);
  EXPECT_EQ(undescribed(answer("/v1/leases")["clients"][0], {"Lease"}), none);
  EXPECT_EQ(undescribed(answer("/v1/machine")["machine"], {"Machine"}), none);
  EXPECT_EQ(undescribed(answer("/v1/machine")["budget"], {"Budget"}), none);
  const std::string run = client["run_id"].get<std::string>();
  EXPECT_EQ(undescribed(answer("/v1/runs/" + run + "/report"), {"Report"}), none);
}

TEST(OpenApi, DescribesExactlyExistingRoutes) {
  std::ifstream file(OPTILE_SOURCE_DIR "/docs/reference/openapi.yaml");
  ASSERT_TRUE(file.is_open());
  std::set<std::string> described;
  std::string path;
  for (std::string line; std::getline(file, line);) {
    if (line.rfind("  /", 0) == 0 && line.back() == ':') {
      path = line.substr(2, line.size() - 3);
    } else if (line == "    get:") {
      described.insert("GET " + path);
    } else if (line == "    post:") {
      described.insert("POST " + path);
    } else if (line == "    delete:") {
      described.insert("DELETE " + path);
    }
  }
  std::set<std::string> routes;
  for (const Api::RouteName& route : Api::routes()) {
    routes.insert(std::string(route.method) + " " + std::string(route.path));
  }
  EXPECT_EQ(described, routes);
}

}  // namespace
}  // namespace optile::daemon
