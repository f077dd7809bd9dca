// The routes about the cluster, and about plans of jobs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "daemon/api/cluster_json.h"
#include "tests/daemon/api/described_fields.h"
#include "tests/daemon/cluster/plan_samples.h"
#include "tests/daemon/fixtures/running_daemon.h"

namespace optile::daemon {
namespace {

using testing::HasSubstr;

class ClusterApiTest : public testing::Test {
 protected:
  ClusterApiTest() : running_(test_config(directory_)) {}
  TemporaryDirectory directory_;
  RunningDaemon running_;
};

TEST_F(ClusterApiTest, ClusterIsJoinedAndLeft) {
  EXPECT_EQ(running_.get("/v1/cluster").json(), nlohmann::json({{"state", "none"}}));
  const std::string remove = "DELETE /v1/cluster HTTP/1.1\r\nHost: o\r\n\r\n";
  EXPECT_EQ(running_.raw(remove).status, 404);
  const std::string join = "/v1/cluster/join";
  for (const char* wrong :
       {"{}", R"({"endpoints": []})", R"({"endpoints": "https://a,http://b"})",
        R"({"endpoints": "a"})", R"({"endpoints": "http://a", "name": "a/b"})",
        R"({"endpoints": [3]})", R"({"endpoints": "http://a", "credentials_file": "relative"})",
        R"({"endpoints": "https://a", "cacert_file": "relative"})"}) {
    EXPECT_EQ(running_.post(join, wrong).status, 400) << wrong;
  }
  // Each field is valid alone, and they contradict each other.
  for (const char* wrong :
       {R"({"endpoints": "https://a", "cert_file": "/cert"})",
        R"({"endpoints": "http://a", "key_file": "/key", "cert_file": "/cert"})"}) {
    EXPECT_EQ(running_.post(join, wrong).status, 409) << wrong;
  }
  const std::string missing = R"({"endpoints": "https://a", "cacert_file": "/nowhere/ca"})";
  EXPECT_EQ(running_.post(join, missing).status, 404);
  // Nobody listens there: it goes on trying, and says so.
  const std::string body = R"({"endpoints": ["http://127.0.0.1:1"], "name": "n0"})";
  ASSERT_EQ(running_.post(join, body).status, 200);
  EXPECT_EQ(running_.post(join, body).status, 200);
  EXPECT_EQ(running_.post(join, R"({"endpoints": "http://127.0.0.1:2"})").status, 409);
  EXPECT_TRUE(running_.serve_until(
      [&] { return !running_.get("/v1/cluster").json()["messages"].empty(); }));
  const nlohmann::json cluster = running_.get("/v1/cluster").json();
  EXPECT_EQ(undescribed(cluster, {"Cluster"}), std::set<std::string>());
  EXPECT_EQ(cluster["state"], "unreachable");
  EXPECT_EQ(cluster["name"], "n0");
  EXPECT_EQ(cluster["epoch"], 0);
  EXPECT_FALSE(cluster["etcd"]["reachable"].get<bool>());
  EXPECT_EQ(running_.raw(remove).json()["state"], "none");
}

// They are read with the daemon's rights.
TEST(ClusterFiles, AreNamedByRootAndDaemonsAccountOnly) {
  Peer stranger;
  stranger.known = true;
  stranger.uid = geteuid() + 1;
  Peer ours = stranger;
  ours.uid = geteuid();
  for (const char* file : {"credentials_file", "cacert_file", "cert_file", "key_file"}) {
    const nlohmann::json body = {{"endpoints", "https://a"}, {file, "/file"}};
    EXPECT_TRUE(cluster_options_in(body, ours).ok()) << file;
    for (const Peer& peer : {stranger, Peer()}) {
      const auto refused = cluster_options_in(body, peer);
      ASSERT_FALSE(refused.ok()) << file;
      EXPECT_EQ(refused.error().kind, base::ErrorKind::kDenied);
    }
  }
  EXPECT_TRUE(cluster_options_in({{"endpoints", "https://a"}}, stranger).ok());
}

TEST_F(ClusterApiTest, PlanToBePublishedIsReadAndWithoutClusterNobodyAgrees) {
  const std::string publications = "/v1/cluster/publications";
  const nlohmann::json usual = {{"claim", {{"token", "t1"}, {"generation", 2}}},
                                {"plan", to_json(pipeline_plan("train.py", 3, 120))}};
  const Answer alone = running_.post(publications, usual.dump());
  EXPECT_EQ(alone.status, 409) << alone.body;
  EXPECT_THAT(alone.body, HasSubstr("this node is in no cluster"));
  const auto refusal = [&](const char* pointer, const nlohmann::json& value) {
    nlohmann::json json = usual;
    json[nlohmann::json::json_pointer(pointer)] = value;
    const Answer refused = running_.post(publications, json.dump());
    EXPECT_EQ(refused.status, 400) << pointer << " " << value;
    return refused.body;
  };
  EXPECT_THAT(refusal("/claim", nullptr), HasSubstr("claim and plan are objects"));
  EXPECT_THAT(refusal("/plan", 7), HasSubstr("claim and plan are objects"));
  EXPECT_THAT(refusal("/claim/token", "../../leader"), HasSubstr("token is letters"));
  EXPECT_THAT(refusal("/claim/user", "root"), HasSubstr("there is no"));
  EXPECT_THAT(refusal("/claim/generation", -1), HasSubstr("generation"));
  EXPECT_THAT(refusal("/plan/command", "sh"), HasSubstr("there is no"));
  EXPECT_THAT(refusal("/plan/job", "../x"), HasSubstr("job has to be letters"));
  EXPECT_EQ(running_.post(publications, "{}").status, 400);
}

TEST_F(ClusterApiTest, PlansAreTakenAndShown) {
  const std::string plans = "/v1/cluster/plans";
  EXPECT_EQ(running_.get(plans).json()["plans"], nlohmann::json::array());
  const nlohmann::json told = to_json(pipeline_plan("train.py", 3, 120));
  const Answer taken = running_.post(plans, told.dump());
  ASSERT_EQ(taken.status, 200) << taken.body;
  const nlohmann::json answer = running_.get(plans).json();
  EXPECT_EQ(undescribed(answer, {"JobPlans"}), std::set<std::string>());
  ASSERT_EQ(answer["plans"].size(), 1u);
  nlohmann::json shown = answer["plans"][0];
  EXPECT_TRUE(shown["node"].is_string());
  EXPECT_GE(shown["seen_seconds"].get<double>(), 0);
  shown.erase("node");
  shown.erase("seen_seconds");
  EXPECT_EQ(shown, told);
  // An earlier one, and one that contradicts itself.
  EXPECT_EQ(running_.post(plans, to_json(pipeline_plan("train.py", 2, 130)).dump()).status, 409);
  nlohmann::json wrong = told;
  wrong["changes"][0]["before"]["parts"] = {8};
  EXPECT_EQ(running_.post(plans, wrong.dump()).status, 409);
  wrong = told;
  wrong["command"] = "sh";
  EXPECT_EQ(running_.post(plans, wrong.dump()).status, 400);
  wrong = told;
  wrong["ranks"][0]["node"] = "\x1b]0;x";
  EXPECT_EQ(running_.post(plans, wrong.dump()).status, 400);
  EXPECT_EQ(running_.post(plans, "{}").status, 400);
  EXPECT_EQ(running_.get(plans).json()["plans"].size(), 1u);
}

}  // namespace
}  // namespace optile::daemon
