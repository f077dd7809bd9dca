// The routes about the cluster, and about plans of jobs.
#include <gtest/gtest.h>

#include "tests/daemon/api/described_fields.h"
#include "tests/daemon/cluster/plan_samples.h"
#include "tests/daemon/fixtures/running_daemon.h"

namespace optile::daemon {
namespace {

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
       {"{}", R"({"endpoints": []})", R"({"endpoints": "https://a"})", R"({"endpoints": "a"})",
        R"({"endpoints": "http://a", "name": "a/b"})", R"({"endpoints": [3]})",
        R"({"endpoints": "http://a", "credentials_file": "relative"})"}) {
    EXPECT_EQ(running_.post(join, wrong).status, 400) << wrong;
  }
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
